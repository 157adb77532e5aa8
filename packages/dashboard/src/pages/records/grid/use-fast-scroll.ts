/**
 * Marks the grid during a fast vertical scroll. During the mark, the first column is placed at its position in the row, without
 * sticky positioning: sticky cells need a layer for each row, and half of the frames would be lost.
 */
import { type RefObject, useLayoutEffect } from "react";

/** Pixels of a fast scroll step: four rows. */
const fastStep = 144;
/** The mark ends after this time without a fast step. */
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
