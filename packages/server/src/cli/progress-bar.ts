/** The progress bar: how far a long command is, on a terminal; nothing elsewhere. */
import type { Terminal } from "./command.ts";

const width = 30;
const drawEveryMs = 100;

export class ProgressBar implements Disposable {
  readonly #draw: ReturnType<Terminal["progress"]>;
  readonly #label: string;
  #drawnAt = Number.NEGATIVE_INFINITY;

  constructor({ progress }: Pick<Terminal, "progress">, label: string) {
    this.#draw = progress();
    this.#label = label;
  }

  show(done: number, total: number): void {
    if (this.#draw === null || performance.now() - this.#drawnAt < drawEveryMs) return;
    this.#drawnAt = performance.now();
    const part = total <= 0 ? 0 : Math.min(1, done / total);
    const full = Math.round(part * width);
    this.#draw(`${this.#label} [${"#".repeat(full)}${".".repeat(width - full)}] ${Math.floor(part * 100)} %`);
  }

  /** Removes the bar. */
  end(): void {
    this.#draw?.("");
  }

  [Symbol.dispose](): void {
    this.end();
  }
}

/** Bytes for people. */
export function readableSize(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10));
  const amount = bytes / 1_024 ** power;
  return `${power === 0 || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${units[power]}`;
}
