// A kernel of a Jupyter server, on this machine or on Binder: start it, run code, hear what it says.
// Fetched when a reader asks for it. It speaks Jupyter's own protocol (REST to start, one WebSocket
// for messages), which has been stable for longer than any client; that is all that a page needs.
"use strict";
{
  const SETTLED = 3000; // milliseconds after which a kernel that was started anew can be told to go
  const uuid = () => crypto.getRandomValues(new Uint32Array(4)).reduce((text, n) => text + n.toString(16).padStart(8, "0"), "");

  /** Ask Binder for a server of this repository; `tell` hears how far it is. */
  const fromBinder = (spec, tell) => new Promise((found, failed) => {
    const stream = new EventSource(`https://mybinder.org/build/${spec}`);
    const end = error => { stream.close(); failed(new Error(error)); };
    stream.onerror = () => end("mybinder.org does not answer. Try again later, or download the notebook.");
    stream.onmessage = event => {
      const { phase, message, url, token } = JSON.parse(event.data);
      if (phase === "failed") end(`Binder could not start this book: ${(message ?? "").trim()}`);
      else if (phase === "ready") { stream.close(); found({ url, token }); }
      else if (phase) tell(`Binder: ${phase}. This takes a minute, and much longer after a change to the book.`);
    };
  });

  /** One kernel. `ended` is called once, with a sentence, when it is gone without having been asked to go. */
  class Kernel {
    static async start({ url, token }, folder, ended) {
      const kernel = new Kernel(url.replace(/\/?$/, "/"), token, ended);
      const body = JSON.stringify({ name: "python3", path: folder });
      let response;
      try {
        response = await kernel.ask("api/kernels", { method: "POST", body });
      } catch { 
        const { host, hostname } = new URL(url);
        const again = hostname === location.hostname ? " Open the address that make serve printed last, whole." : "";
        throw new Error(`No Jupyter server at ${host} answers this page.${again}`);
      }
      if (!response.ok) throw new Error(`The Jupyter server refused to start a kernel (${response.status}).`);
      kernel.id = (await response.json()).id;
      await kernel.connect();
      return kernel;
    }

    constructor(url, token, ended) {
      Object.assign(this, { url, token, ended, session: uuid(), running: new Map(), id: null, socket: null });
    }

    ask(path, options) {
      const headers = { Authorization: `token ${this.token}`, "Content-Type": "application/json" };
      return fetch(this.url + path, { headers, ...options });
    }

    connect() {
      const query = `session_id=${this.session}&token=${encodeURIComponent(this.token)}`;
      this.socket = new WebSocket(`${this.url.replace(/^http/, "ws")}api/kernels/${this.id}/channels?${query}`);
      this.socket.onmessage = event => this.hear(JSON.parse(event.data));
      this.socket.onclose = () => this.end("The connection to the kernel is lost.");
      return new Promise((open, failed) => {
        this.socket.onopen = open;
        this.socket.onerror = () => failed(new Error("The Jupyter server accepts no connection from this page."));
      });
    }

    /** Run code and hand each message about it to `hear`; gives back "ok", "error" or "aborted". */
    run(code, hear = () => {}, silent = false) {
      const id = uuid();
      const header = { msg_id: id, msg_type: "execute_request", session: this.session, username: "", version: "5.3", date: new Date().toISOString() };
      const content = { code, silent, store_history: !silent, user_expressions: {}, allow_stdin: false, stop_on_error: true };
      return new Promise((done, failed) => {
        this.running.set(id, { hear, done, failed, status: null, idle: false });
        this.socket.send(JSON.stringify({ header, parent_header: {}, metadata: {}, content, channel: "shell", buffers: [] }));
      });
    }

    hear({ header, parent_header: parent, content }) {
      // A kernel that died is started anew by its server; what it knew is gone all the same.
      if (header.msg_type === "status" && /restarting|dead/.test(content.execution_state)) {
        this.end("The kernel died, and with it everything that the cells had computed.");
        if (content.execution_state === "restarting") setTimeout(() => this.remove(), SETTLED);
        return;
      }
      const asked = this.running.get(parent?.msg_id);
      if (!asked) return;
      if (header.msg_type === "execute_reply") asked.status = content.status;
      else if (header.msg_type === "status") asked.idle = content.execution_state === "idle";
      else asked.hear(header.msg_type, content);
      if (asked.idle && asked.status) {
        this.running.delete(parent.msg_id);
        asked.done(asked.status);
      }
    }

    interrupt() { return this.ask(`api/kernels/${this.id}/interrupt`, { method: "POST" }); }

    /** Stop the kernel; also while the page is being left. */
    stop() {
      this.ended = () => {};
      this.end("");
      return this.remove();
    }

    remove() { return this.ask(`api/kernels/${this.id}`, { method: "DELETE", keepalive: true }).catch(() => {}); }

    end(sentence) {
      if (this.gone) return;
      this.gone = true;
      this.socket.close();
      for (const { failed } of this.running.values()) failed(Object.assign(new Error(sentence), { told: true }));
      this.running.clear();
      this.ended(sentence);
    }
  }

  window.bookKernel = { Kernel, fromBinder };
}
