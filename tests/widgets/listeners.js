/* Counts listeners that are added from now on and not yet taken away by their signal. */
window.countListeners = () => {
  window.listeners = 0;
  const add = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function (name, run, options) {
    if (!(this instanceof AbortSignal)) {
      window.listeners++;
      if (options && options.signal) add.call(options.signal, 'abort', () => window.listeners--, { once: true });
    }
    return add.call(this, name, run, options);
  };
};
