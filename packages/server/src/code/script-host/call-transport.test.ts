/** Tests of the transport of calls: the places of large answers. */
import { expect, test } from "bun:test";
import { FakeProcess } from "../../../test/fake-process.ts";
import { quietLogger } from "../../../test/kit.ts";
import { attempt } from "../../../test/script-attempts.ts";
import { until } from "../../../test/sockets.ts";
import { CallTransport } from "./call-transport.ts";

test("a large answer has its place until the process has taken the answer; a small answer needs no place", async () => {
  const process = new FakeProcess(() => undefined);
  const begun: number[] = [];
  const calls = {
    async answer({ call }: { readonly call: number }): Promise<unknown> {
      begun.push(call);
      return call;
    },
  };
  const transport = new CallTransport(process, { calls, logger: quietLogger() });
  const caller = attempt("a");
  const ask = (call: number, method: string): Promise<void> =>
    transport.answer({ type: "call", call, attempt: caller.number, method, args: [] }, caller);
  const parts = (): number => process.sent.filter(({ type }) => type === "part").length;
  const large = [1, 2, 3].map((call) => ask(call, "db.query"));
  await until(() => parts() >= 2);
  await ask(4, "db.get");
  expect(begun).toEqual([1, 2, 4]);
  transport.taken(2);
  await large[1];
  await until(() => parts() >= 3);
  expect(begun).toEqual([1, 2, 4, 3]);
  for (const call of [1, 3]) transport.taken(call);
  await Promise.all(large);
  expect(process.sent.flatMap((message) => (message.type === "answer" ? [message.call] : []))).toEqual([4, 2, 1, 3]);
});
