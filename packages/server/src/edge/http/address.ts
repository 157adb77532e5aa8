/** Keys of addresses, by which limits count. */
import { isIPv6 } from "node:net";

/**
 * The key of an address. Brackets and a port, which some proxies write (RFC 7239, 6), do not count. IPv4 stays, also
 * when written as IPv6 (`::ffff:0:0/96`, in either notation). An IPv6 address counts by its /64: a subscriber has
 * that many addresses (RFC 6177).
 */
export function addressKey(written: string): string {
  const address = withoutPort(written);
  if (!isIPv6(address)) return address;
  const plain = address.split("%")[0] ?? "";
  // The URL parser writes an address in its shortest form, which makes the groups comparable.
  const shortest = new URL(`http://[${plain}]/`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(shortest);
  if (mapped !== null) return mapped.slice(1).flatMap(bytesOf).join(".");
  const [head = "", tail] = shortest.split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? [] : Array<string>(8 - before.length - after.length).fill("0");
  return `${[...before, ...zeros, ...after].slice(0, 4).join(":")}::/64`;
}

/** An address without its brackets and its port: `[2001:db8::1]:443`, `192.0.2.7:51234`. */
function withoutPort(written: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(written)?.[1];
  return bracketed ?? /^([^:]*):\d+$/.exec(written)?.[1] ?? written;
}

/** The two bytes of a group of an IPv6 address. */
function bytesOf(group: string): [number, number] {
  const value = Number.parseInt(group, 16);
  return [value >> 8, value & 0xff];
}
