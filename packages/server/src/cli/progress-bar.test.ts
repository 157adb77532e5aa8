/** The progress bar: drawn on a terminal, silent elsewhere, and taken away at the end. */
import { expect, test } from "bun:test";
import { ProgressBar, readableSize } from "./progress-bar.ts";

test("a terminal shows the bar and clears the bar; another output gets nothing", () => {
  const drawn: string[] = [];
  const bar = new ProgressBar({ progress: () => (text) => drawn.push(text) }, "Backup");
  bar.show(1, 4);
  // Too soon after the line before.
  bar.show(2, 4);
  bar.end();
  expect(drawn).toEqual(["Backup [########......................] 25 %", ""]);
  const silent = new ProgressBar({ progress: () => null }, "Backup");
  silent.show(1, 0);
  silent.end();
});

test("sizes are written as people read sizes", () => {
  expect([0, 1_023, 1_536, 250 * 1_024 ** 2, 3 * 1_024 ** 4].map(readableSize)).toEqual([
    "0 B",
    "1023 B",
    "1.5 KiB",
    "250 MiB",
    "3.0 TiB",
  ]);
});
