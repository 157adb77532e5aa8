/** The clock of a service under test: the clock goes on like the machine's, and a test moves the clock forward from alarm to alarm. */
import { type Alarm, Clock, moveTime, timeOffset } from "../base/kernel/index.ts";

/** The longest wait of a timer of the runtime. */
const longestTimerMs = 2 ** 31 - 1;

class TestAlarm implements Alarm {
  /** In the time of the service, in milliseconds since 1970. */
  readonly due: number;
  readonly #effect: () => void;
  readonly #alarms: Set<TestAlarm>;
  #timer: Timer | null = null;

  constructor(due: number, effect: () => void, alarms: Set<TestAlarm>) {
    this.due = due;
    this.#effect = effect;
    this.#alarms = alarms;
    alarms.add(this);
    this.arm();
  }

  /** Waits until the due time, by the moved time. */
  arm(): void {
    clearTimeout(this.#timer ?? undefined);
    const waitMs = Math.min(Math.max(0, this.due - Date.now()), longestTimerMs);
    this.#timer = setTimeout(() => (Date.now() < this.due ? this.arm() : this.ring()), waitMs).unref();
  }

  ring(): void {
    this.cancel();
    this.#effect();
  }

  cancel(): void {
    clearTimeout(this.#timer ?? undefined);
    this.#alarms.delete(this);
  }
}

export class TestClock extends Clock {
  readonly #alarms = new Set<TestAlarm>();

  /** A test that moves the clock lets time pass. */
  override steady(): number {
    return performance.now() + timeOffset();
  }

  override after(ms: number, effect: () => void): Alarm {
    return new TestAlarm(Date.now() + ms, effect, this.#alarms);
  }

  /** Only the service sets this clock, so no look is needed before the time has come. */
  override lookAfter(ms: number, effect: () => void): Alarm {
    return this.after(ms, effect);
  }

  /**
   * Moves the time forward, from alarm to alarm, so that each alarm rings at its time. The next step follows when the step
   * before has settled.
   * @param steps `onMove` is called when the time was moved, before the alarms ring; `settle` resolves when the effects of the
   * alarms are over.
   */
  async advance(milliseconds: number, steps: { onMove: () => void; settle: () => Promise<void> }): Promise<void> {
    const { onMove, settle } = steps;
    const end = Date.now() + milliseconds;
    await settle();
    for (let next = 0; next < end; await settle()) {
      next = Math.min(end, ...[...this.#alarms].map(({ due }) => due));
      // The time goes on meanwhile, so the alarm may be due already.
      moveTime(timeOffset() + Math.max(0, next - Date.now()));
      onMove();
      this.#ring();
    }
  }

  #ring(): void {
    const due = [...this.#alarms].filter((alarm) => alarm.due <= Date.now()).sort((a, b) => a.due - b.due);
    for (const alarm of due) if (this.#alarms.has(alarm)) alarm.ring();
    for (const alarm of this.#alarms) alarm.arm();
  }
}
