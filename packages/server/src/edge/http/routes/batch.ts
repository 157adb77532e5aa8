/** `POST /api/batch`: many changes of records in one transaction (contract, "Batch, search, groups"). */
import * as wire from "@socle/protocol/wire";
import type { Config } from "../../../base/config/index.ts";
import { type Admission, JsonText } from "../../../base/kernel/index.ts";
import { parseBatch, type Records, type WorkBeside } from "../../../data/records/index.ts";
import { requireJsonType } from "../bodies.ts";
import { type Idempotency, idempotencyKey, keptJson, keyOf } from "../idempotency.ts";
import type { RateLimiter } from "../rate-limiter.ts";
import { answer, jsonBody, ownRoute, type Routes } from "../route.ts";

/** Bodies from this many bytes on wait for the turn: the changes keep the writer from others for some milliseconds. */
const largeBytes = 32 * 1024;

function answerOf(results: JsonText): JsonText {
  return JsonText.from(`{"results":${results.text}}`);
}

export function batchRoutes(api: {
  records: Records;
  config: Config;
  rates: RateLimiter;
  idempotency: Idempotency;
  /** Large batches that are read, run or wait for the flush. */
  batches: Admission;
}): Routes {
  return {
    "/api/batch": {
      POST: ownRoute({
        summary: "Make many changes in one transaction",
        access: "anybody",
        keys: true,
        rate: "records",
        headers: idempotencyKey,
        body: jsonBody(wire.batch),
        answers: { 200: answer(wire.batchResults) },
        errors: [401, 403, 404, 409, 412],
        async handle(exchange) {
          const { records, config, rates, idempotency, batches } = api;
          const principal = await exchange.principal();
          const key = keyOf(exchange);
          requireJsonType(exchange.request);
          // Until the turn has come, a batch is kept as the bytes that came.
          const bytes = await exchange.body(config["limits.batchBody"]);
          const caller = exchange.callerKey(principal);
          const run = async (beside?: WorkBeside): Promise<JsonText> => {
            const operations = parseBatch(await exchange.parse(bytes));
            rates.charge("records", exchange, operations.length - 1);
            return records.batch(exchange.author(principal), operations, { ...beside, callerOf: () => caller });
          };
          const inTurn = (beside?: WorkBeside): Promise<JsonText> => {
            if (bytes.byteLength < largeBytes) return run(beside);
            const waiter = { caller, signal: exchange.request.signal };
            return batches.run(() => run(beside), waiter);
          };
          if (key === null) return exchange.json(200, answerOf(await inTurn()));
          return idempotency.answer(exchange, { key, body: bytes }, async (keep) => {
            await inTurn({ after: (tx, _ids, results) => keep(tx, keptJson(200, answerOf(results))) });
            return undefined;
          });
        },
      }),
    },
  };
}
