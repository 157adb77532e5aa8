/** Times of delivery: creates at a steady pace, and the milliseconds until the event of each create is at each subscriber. */
import type { Peer } from "./peer.ts";

interface DeliveryOptions {
  readonly subscribers: number;
  readonly seconds: number;
  readonly perSecond: number;
  /** The record with this `count`. */
  body(count: number): string;
}

interface Delivery {
  readonly p50: number;
  readonly p99: number;
  /** Events that were not at a subscriber two seconds after the last create. */
  readonly missing: number;
}

/** The counts of all measurements differ, so that a late event counts for no later measurement. */
let nextCount = 1_000_000;

export async function measureDelivery(peer: Peer, options: DeliveryOptions): Promise<Delivery> {
  const sentAt = new Map<number, number>();
  const times: number[] = [];
  const onEvent = (count: number): void => {
    const at = sentAt.get(count);
    if (at !== undefined) times.push(performance.now() - at);
  };
  const subscriptions = await Promise.all(Array.from({ length: options.subscribers }, () => peer.subscribe(onEvent)));
  const sent: Promise<void>[] = [];
  const create = async (count: number): Promise<void> => {
    sentAt.set(count, performance.now());
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(peer.url + peer.records, { method: "POST", headers, body: options.body(count) });
    if (!response.ok) throw new Error(`${peer.name}: ${response.status} ${await response.text()}`);
  };
  for (let n = 0; n < options.seconds * options.perSecond; n++) {
    sent.push(create(nextCount++));
    await Bun.sleep(1_000 / options.perSecond);
  }
  await Promise.all(sent);
  const expected = sent.length * options.subscribers;
  for (const end = performance.now() + 2_000; times.length < expected && performance.now() < end; ) await Bun.sleep(20);
  for (const subscription of subscriptions) subscription.close();
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), missing: expected - times.length };
}
