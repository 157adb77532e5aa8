/** Earlier records of hooks: a process gets each record once, however many calls name the list, and forgets an idle list. */
import { expect, test } from "bun:test";
import { until } from "../../../test/sockets.ts";
import { EarlierLists } from "./earlier.ts";
import type { ToChild } from "./protocol.ts";

test("calls in a row, and at the same time, share the records; an idle list is dropped", async () => {
  const sent: ToChild[] = [];
  const lists = new EarlierLists((message) => sent.push(message));
  const records = Array.from({ length: 4 }, (_, n) => ({ id: `${n}`, record: { n } }));
  const call = async (length: number): Promise<number> => {
    const over = Promise.withResolvers<void>();
    const { list } = lists.part({ records, length }, over.promise);
    over.resolve();
    await over.promise;
    await Bun.sleep(10);
    return list;
  };
  const used = [await call(1), await call(1), ...(await Promise.all([call(3), call(2)])), await call(4)];
  expect(new Set(used).size).toBe(1);
  expect(sent.flatMap((message) => (message.type === "earlier" ? [message.records.length] : []))).toEqual([1, 2, 1]);
  await until(() => sent.some(({ type }) => type === "forget"));
  expect(await call(2)).not.toBe(used[0] ?? 0);
  expect(sent.at(-1)).toMatchObject({ type: "earlier", records: records.slice(0, 2) });
});
