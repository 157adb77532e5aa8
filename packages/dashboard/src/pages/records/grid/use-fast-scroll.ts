/**
 * Marks the grid while somebody scrolls far with every frame. Its first column is then placed where it stands, and not
 * held by the browser: with a layer for each row, half of the frames would be lost.
 */
import { type RefObject, useLayoutEffect } from "react";

/** Pixels of one step from which a scroll is fast: four rows. */
const fastStep = 144;
/** The mark goes when there has been no fast step for so long. */
const restMs = 150;

export function useFastScroll(scroller: RefObject<HTMLDivElement | null>): void {
  useLayoutEffect(() => {
    const { current: grid } = scroller;
    if (grid === null) return undefined;
    let { scrollTop: top, scrollLeft: left } = grid;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const rest = (): void => {
      clearTimeout(timer);
      timer = undefined;
      grid.removeAttribute("data-is-fast");
    };
    const onScroll = (): void => {
      const { scrollTop, scrollLeft } = grid;
      const step = Math.abs(scrollTop - top);
      const isSideways = scrollLeft !== left;
      top = scrollTop;
      left = scrollLeft;
      if (isSideways) rest();
      else if (step >= fastStep) {
        if (timer === undefined) {
          grid.style.setProperty("--scrolled", `${left}px`);
          grid.setAttribute("data-is-fast", "");
        }
        clearTimeout(timer);
        timer = setTimeout(rest, restMs);
      }
    };
    grid.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      grid.removeEventListener("scroll", onScroll);
      rest();
    };
  }, [scroller]);
}
