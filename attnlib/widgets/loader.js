/* Stands in a notebook's later outputs: starts what an earlier output brought the code of. That output may be drawn later
   than this one, or be gone; in that case the sentence says what to do, and the fallback stays. */
(() => {
  const start = () => {
    const mount = MOUNT;
    if (mount) mount();
    return Boolean(mount);
  };
  if (start()) return;
  setTimeout(() => {
    if (start()) return;
    for (const note of document.querySelectorAll('PLACE .attn-note')) note.hidden = false;
  }, 1500);
})();
