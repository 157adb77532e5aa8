/**
 * Moved time: a process of `socle test` whose `Date` is ahead of the machine's clock. No other process ever moves its
 * time.
 */

const MachineDate = Date;
let offset = 0;

/** Whether `Date` of this process follows `moveTime`. */
export function isTimeMovable(): boolean {
  return globalThis.Date !== MachineDate;
}

/** Milliseconds by which `Date` is ahead of the machine's clock. */
export function timeOffset(): number {
  return offset;
}

/** The machine's clock, in milliseconds since 1970. */
export function machineTime(): number {
  return MachineDate.now();
}

/** From now on, `Date` is so many milliseconds ahead of the machine's clock, in all code of this process but that of its threads. */
export function moveTime(milliseconds: number): void {
  if (!isTimeMovable()) install();
  offset = milliseconds;
}

function install(): void {
  const now = (): number => MachineDate.now() + offset;
  globalThis.Date = new Proxy(MachineDate, {
    get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
    construct: (target, args: unknown[], newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new MachineDate(now()).toString(),
  });
  // `date.constructor === Date` holds as before.
  MachineDate.prototype.constructor = globalThis.Date;
}
