/**
 * The seccomp filter of the traced command: a small program of the kernel that stops a thread at the calls of a list, and lets
 * all other calls run at full speed.
 */
import { type CallName, machine, numberOf } from "./syscalls.ts";

/** Traps a call; with conditions, only when each argument, under the mask, equals a listed value, or is not zero. */
export interface Trap {
  readonly call: CallName;
  readonly when?: readonly { readonly argument: number; readonly mask: number; readonly values?: readonly number[] }[];
}

type Step = readonly [code: number, jumpTrue: number, jumpFalse: number, value: number];

const load = 0x20;
const jumpEqual = 0x15;
const and = 0x54;
const answer = 0x06;
const trace: Step = [answer, 0, 0, 0x7ff00000];
const allow: Step = [answer, 0, 0, 0x7fff0000];
/** The places of the number, the processor and the arguments in the input of the filter. */
const place = { number: 0, processor: 4, argument: 16 } as const;

/** The steps of one trap, after the comparison of the call number. The steps answer `trace`, or end behind the last step. */
function stepsOf({ when = [] }: Trap): Step[] {
  let steps: Step[] = [trace];
  for (const { argument, mask, values = [] } of when.toReversed()) {
    const past = steps.length;
    const compare = values.map((value, i): Step => {
      const isLast = i === values.length - 1;
      return [jumpEqual, values.length - 1 - i, isLast ? past : 0, value];
    });
    const isSet: Step = [jumpEqual, past, 0, 0];
    steps = [
      [load, 0, 0, place.argument + argument * 8],
      [and, 0, 0, mask],
      ...(compare.length === 0 ? [isSet] : compare),
      ...steps,
    ];
  }
  return steps;
}

/** The filter's program, in the kernel's form. Each trap of a call is asked. */
export function filterProgram(traps: readonly Trap[]): Uint8Array<ArrayBuffer> {
  const steps: Step[] = [[load, 0, 0, place.processor], [jumpEqual, 1, 0, machine.audit], allow];
  for (const trap of traps) {
    const number = numberOf(trap.call);
    if (number === null) continue;
    const block = stepsOf(trap);
    steps.push([load, 0, 0, place.number], [jumpEqual, 0, block.length, number], ...block);
  }
  steps.push(allow);
  const bytes = new Uint8Array(steps.length * 8);
  const view = new DataView(bytes.buffer);
  steps.forEach(([code, jumpTrue, jumpFalse, value], i) => {
    view.setUint16(i * 8, code, true);
    view.setUint8(i * 8 + 2, jumpTrue);
    view.setUint8(i * 8 + 3, jumpFalse);
    view.setUint32(i * 8 + 4, value, true);
  });
  return bytes;
}
