// Figures and dates as the reader has them, and whether tables go on at the side of their boxes.

translateFigures(document);
for (const box of document.querySelectorAll(".box")) {
  const showOverflow = () => {
    const over = box.scrollWidth - box.clientWidth;
    box.dataset.overflow = over <= 1 ? "none" : over - box.scrollLeft > 1 ? "right" : "left";
  };
  box.addEventListener("scroll", showOverflow, { passive: true });
  window.addEventListener("resize", showOverflow);
  box.closest("details")?.addEventListener("toggle", showOverflow);
  showOverflow();
}
