/** Addresses as limits count them. */
import { isIPv6 } from "node:net";

/**
 * The key of an address. IPv4 is as it is, also when it is written as IPv6 (`::ffff:1.2.3.4`). An IPv6 address counts by
 * its /64: one subscriber has that many addresses (RFC 6177).
 */
export function addressKey(address: string): string {
  if (!address.includes(":") || !isIPv6(address)) return address;
  const plain = address.split("%")[0] ?? "";
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1];
  if (mapped !== undefined) return mapped;
  // The URL parser writes an address in its shortest form, which makes the groups comparable.
  const shortest = new URL(`http://[${plain}]/`).hostname.slice(1, -1);
  const [head = "", tail] = shortest.split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? [] : Array<string>(8 - before.length - after.length).fill("0");
  return `${[...before, ...zeros, ...after].slice(0, 4).join(":")}::/64`;
}
