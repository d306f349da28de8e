/* Stands in a notebook's later outputs: starts the player with the code that an earlier output brought. That output may
   be drawn later than this one, or be gone; in that case the sentence says what to do, and the table stays. */
(() => {
  const start = () => Boolean(window.attnlibPlayer) && (window.attnlibPlayer.mountAll(), true);
  if (start()) return;
  setTimeout(() => {
    if (start()) return;
    for (const note of document.querySelectorAll('.attn-note')) note.hidden = false;
  }, 1500);
})();
