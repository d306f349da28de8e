/* Ends the page's script: keeps one copy of the player's code on a page, and mounts what waits for it. */
window.attnlibPlayer ??= $page;
for (const note of document.querySelectorAll('.attn-player .attn-note')) note.hidden = true;
if (document.readyState === 'loading') {
  document.addEventListener('DOMContentLoaded', () => window.attnlibPlayer.mountAll());
} else window.attnlibPlayer.mountAll();
