/**
 * Checks of the cluster suite: compare the histories of the clients and the listeners with the evidence of a database. Each check answers the broken
 * promises, and a line with the counts.
 */
import type { Heard } from "../cluster-hearer.ts";
import type { Operation } from "./cluster-clients.ts";
import type { Evidence, HeardEvent, Run } from "./cluster-evidence.ts";

export interface Found {
  readonly problems: readonly string[];
  readonly counts: string;
}

/** The times between which the term of the leader has changed, in milliseconds since 1970. */
export interface TermChange {
  readonly from: number;
  readonly until: number;
}

/** A listener after the run. */
export interface ListenerHistory {
  readonly name: string;
  readonly heard: readonly Heard[];
  readonly problems: readonly string[];
  readonly hears: (event: HeardEvent) => boolean;
}

/** All that is known after a run. */
export interface Known {
  readonly operations: readonly Operation[];
  readonly evidence: Evidence;
  readonly listeners: readonly ListenerHistory[];
  readonly terms: readonly TermChange[];
}

/** The records and the events of each kind of change. */
const made = {
  create: { "items.created": 1, "tallies.updated": 0 },
  increment: { "items.created": 0, "tallies.updated": 1 },
  batch: { "items.created": 2, "tallies.updated": 1 },
  enqueue: { "items.created": 0, "tallies.updated": 0 },
} as const;

function counted(keys: Iterable<number | string>): Map<number | string, number> {
  const counts = new Map<number | string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

function number(value: number): string {
  return value.toLocaleString("en");
}

/** Each instance has an acknowledged change once, no refused change, and a change without an answer as a whole or not at all. */
function checkWrites({ operations, evidence }: Known): Found {
  const events = counted(evidence.events.map(({ type, n }) => `${type} ${n}`));
  const rows = counted(evidence.items.map(({ n }) => n));
  const problems: string[] = [];
  let happened = 0;
  for (const { n, kind, outcome, told } of operations) {
    if (kind === "enqueue") continue;
    const wanted = made[kind];
    const present = [
      events.get(`items.created ${n}`) ?? 0,
      events.get(`tallies.updated ${n}`) ?? 0,
      rows.get(n) ?? 0,
    ].join();
    const whole = [wanted["items.created"], wanted["tallies.updated"], wanted["items.created"]].join();
    const isThere = present === whole;
    const isAbsent = present === "0,0,0";
    if (outcome === "unknown" && isThere) happened += 1;
    const isFine = outcome === "acknowledged" ? isThere : outcome === "refused" ? isAbsent : isThere || isAbsent;
    if (!isFine) problems.push(`${kind} ${n} is ${outcome} (${told}), and there ${present} times in place of ${whole}`);
  }
  const asked = new Set(operations.map(({ n }) => n));
  for (const { n, id } of evidence.events) if (!asked.has(n)) problems.push(`${id} is of ${n}, which nobody asked for`);
  const of = (outcome: string): string => number(operations.filter((each) => each.outcome === outcome).length);
  const counts = `${of("acknowledged")} acknowledged, ${of("refused")} refused, ${of("unknown")} unknown, ${number(happened)} of these have happened`;
  return { problems, counts };
}

/** A change that was acknowledged before another began has the lower numbers; the position of an answer covers the change. */
function checkOrder({ operations, evidence }: Known): Found {
  const numbers = new Map<number, { first: number; last: number }>();
  for (const { n, seq } of evidence.events) numbers.set(n, { first: numbers.get(n)?.first ?? seq, last: seq });
  const answered = operations
    .filter(({ outcome }) => outcome === "acknowledged")
    .toSorted((a, b) => a.answeredAt - b.answeredAt);
  const problems: string[] = [];
  let compared = 0;
  let next = 0;
  let [newest, newestN] = [0, 0];
  for (const { n, sentAt, outcome, position } of operations.toSorted((a, b) => a.sentAt - b.sentAt)) {
    for (let before = answered[next]; before !== undefined && before.answeredAt < sentAt; before = answered[++next]) {
      const end = Math.max(before.position, numbers.get(before.n)?.last ?? 0);
      if (end > newest) [newest, newestN] = [end, before.n];
    }
    const own = numbers.get(n);
    if (outcome === "acknowledged" && position < Math.max(newest, own?.last ?? 0))
      problems.push(`${n} was answered with position ${position}, and has ${own?.last}; ${newest} was there before`);
    if (own === undefined) continue;
    compared += 1;
    if (own.first <= newest) problems.push(`${n} has ${own.first}; ${newestN} with ${newest} was answered before`);
    // The events of a batch follow each other.
    if (own.last - own.first > 2) problems.push(`${n} is spread from ${own.first} to ${own.last}`);
  }
  return { problems, counts: `${number(compared)} changes compared with all that were answered before` };
}

/** Each counted record has the sum of its acknowledged changes and of some of the unknown; no number of a sequence comes twice. */
function checkNumbers({ operations, evidence }: Known): Found {
  const problems: string[] = [];
  const sums: number[] = [];
  for (const { id, value } of evidence.tallies) {
    const own = operations.filter(({ tally }) => tally === id);
    const least = own.filter(({ outcome }) => outcome === "acknowledged").length;
    const most = least + own.filter(({ outcome }) => outcome === "unknown").length;
    if (value < least || value > most) problems.push(`${id} is ${value}, and must be from ${least} to ${most}`);
    sums.push(value);
  }
  const events = evidence.events.filter(({ type }) => type === "tallies.updated").length;
  const sum = sums.reduce((total, each) => total + each, 0);
  if (sum !== events) problems.push(`the sum is ${sum}, and ${events} changes are in the log`);
  for (const [serial, times] of counted(evidence.items.map(({ serial }) => serial)))
    if (times > 1) problems.push(`the number ${serial} of the sequence was given ${times} times`);
  return {
    problems,
    counts: `${sums.map(number).join(" + ")} counted, ${number(evidence.items.length)} numbers given`,
  };
}

/** Each listener has heard each event for the listener once, in order, with the content of the log. */
function checkListeners({ listeners, evidence }: Known): Found {
  const problems: string[] = [];
  let heardInAll = 0;
  for (const { name, heard, hears, problems: own } of listeners) {
    problems.push(...own.map((problem) => `${name}: ${problem}`));
    heardInAll += heard.length;
    const wanted = evidence.events.filter(hears);
    const at = wanted.findIndex(({ id, text }, i) => heard[i]?.id !== id || heard[i]?.record !== text);
    if (at === -1 && heard.length === wanted.length) continue;
    const place = at === -1 ? wanted.length : at;
    const [logged, got] = [wanted[place], heard[place]];
    problems.push(
      `${name} has heard ${heard.length} of ${wanted.length} events; event ${place} is ${logged?.id} (${logged?.text}), heard was ${got?.id} (${got?.record})`,
    );
  }
  return { problems, counts: `${listeners.length} listeners have heard ${number(heardInAll)} events` };
}

/** Each acknowledged run was made, each call has made a single record, and a run was made again only after a change of the term. */
function checkRuns({ operations, evidence, terms }: Known): Found {
  const problems: string[] = [];
  const { runs, waiting, failed } = evidence;
  if (waiting + failed > 0) problems.push(`${waiting} runs wait, ${failed} have failed for good`);
  for (const [call, times] of counted(runs.map(({ host, call }) => `${host} ${call}`)))
    if (times > 1) problems.push(`the call ${call} has made ${times} records`);
  const ofNumber = Map.groupBy(runs, ({ n }) => n);
  for (const { n, kind, outcome, run } of operations) {
    if (kind !== "enqueue") continue;
    const own = ofNumber.get(n) ?? [];
    const ids = new Set(own.map((each) => each.run));
    if (outcome === "acknowledged" && !ids.has(run))
      problems.push(`run ${run} of ${n} was acknowledged and never made`);
    if (outcome === "refused" && own.length > 0) problems.push(`${n} was refused, and was run`);
    if (ids.size > 1) problems.push(`${n} was enqueued ${ids.size} times`);
  }
  const causeless = (a: Run, b: Run): boolean => !terms.some(({ from, until }) => until >= a.at && from <= b.at);
  let repeated = 0;
  for (const own of Map.groupBy(runs, ({ run }) => run).values())
    for (const [i, again] of own.entries()) {
      const before = own[i - 1];
      if (before === undefined) continue;
      repeated += 1;
      if (causeless(before, again)) problems.push(`run ${again.run} was made again without a change of the term`);
    }
  const enqueued = operations.filter(({ kind, outcome }) => kind === "enqueue" && outcome === "acknowledged").length;
  return {
    problems,
    counts: `${number(enqueued)} runs acknowledged, ${number(runs.length)} made, ${repeated} of these again`,
  };
}

export const checks: { readonly [name: string]: (known: Known) => Found } = {
  "changes, each once": checkWrites,
  "positions and real time": checkOrder,
  "counts and sequences": checkNumbers,
  "events heard": checkListeners,
  "runs of the queue": checkRuns,
};
