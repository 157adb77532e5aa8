import { describe, expect, test } from "bun:test";
import { openServer, until } from "../../../test/sockets.ts";
import { InFlight, type Open } from "./in-flight.ts";

const one = (address: string): Open => ({ address, countedBy: null });

test("the first requests are free, sockets and further requests count for their address", () => {
  const callers = new InFlight({ connectionsPerAddress: 10, answersLimit: 1_000, onLimit: () => undefined });
  const free = [one("a"), one("a")];
  for (const each of free) callers.enter(each);
  const own = Array.from({ length: 10 }, () => one("a"));
  for (const each of own) callers.enter(each);
  expect(() => callers.enter(one("a"))).toThrow("Your address has 10 requests and sockets open already.");
  callers.enter(one("b"));
  const [first = one("a"), second = one("a")] = own;
  callers.leave(first);
  callers.leave(first);
  const [socket = one("a"), last = one("a")] = free;
  callers.becomeSocket(socket);
  expect(() => callers.becomeSocket(last)).toThrow("already");
  callers.leave(second);
  callers.becomeSocket(last);
  // Both places were free before the requests became sockets; both places are free again, and the refused request holds no place.
  const refused = one("a");
  const again = [one("a"), one("a")];
  for (const each of again) callers.enter(each);
  expect(() => callers.enter(refused)).toThrow("already");
  callers.leave(refused);
  expect(() => callers.enter(one("a"))).toThrow("already");
});

describe("requests and sockets of an address", async () => {
  const server = await openServer({
    collections: [{ name: "notes", fields: [] }],
    settings: { SERVICE_LIMITS_CONNECTIONS_PER_ADDRESS: "2" },
  });
  const get = async (): Promise<unknown[]> => {
    const response = await fetch(`${server.url}/api/notes`);
    await response.text();
    return [response.status, response.headers.get("retry-after")];
  };

  test("beyond the bound both get 429 with Retry-After, and not after a request has ended", async () => {
    expect(await get()).toEqual([200, null]);
    const sockets = [await server.connect(), await server.connect()];
    expect(await get()).toEqual([429, "1"]);
    await expect(server.connect()).rejects.toThrow("not opened");
    sockets[0]?.socket.close();
    await until(() => server.parts.realtime.sockets === 1);
    expect(await get()).toEqual([200, null]);
    const limits = new Map(server.service.limits.totals());
    expect(limits.get("connectionsPerAddress")).toBe(2);
  });
});
