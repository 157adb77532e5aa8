import { describe, expect, test } from "bun:test";
import { openServer, until } from "../../test/sockets.ts";
import { Callers } from "./callers.ts";

test("an address is counted also when it came before anybody counted", () => {
  const callers = new Callers(3);
  const own = Array.from({ length: 2 }, () => ({ address: "a" }));
  const other = { address: "b" };
  for (const one of [...own, other]) callers.enter(one);
  callers.enter({ address: "a" });
  expect(() => callers.enter({ address: "a" })).toThrow("Your address has 3 requests and sockets open already.");
  callers.enter({ address: "b" });
  for (const one of own) callers.leave(one);
  for (const one of own) callers.leave(one);
  callers.enter({ address: "a" });
});

describe("requests and sockets of one address", async () => {
  const server = await openServer({
    collections: [{ name: "notes", fields: [] }],
    settings: { SERVICE_LIMITS_CONNECTIONS_PER_ADDRESS: "2" },
  });
  const get = async (): Promise<unknown[]> => {
    const response = await fetch(`${server.url}/api/notes`);
    await response.text();
    return [response.status, response.headers.get("retry-after")];
  };

  test("beyond the bound both get 429 with Retry-After, and not when one has gone", async () => {
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
