/** A service that is older or newer than the client: the client says so once in the console, and goes on. */
import { afterEach, expect, spyOn, test } from "bun:test";
import { SERIES, VERSION_HEADER } from "@socle/protocol";
import { createClient, SocleError } from "./index.ts";
import { LiveServer } from "./testing/live-server.ts";

const warn = spyOn(console, "warn").mockImplementation(() => undefined);
const server = new LiveServer();
afterEach(() => warn.mockClear());

/** Answers with the series in turn; null is an answer without the header. */
async function told(series: readonly (string | null)[], status = 200): Promise<unknown[]> {
  const left = [...series];
  server.answer = () => {
    const served = left.shift() ?? null;
    const headers = served === null ? {} : { [VERSION_HEADER]: served };
    return Response.json(status === 200 ? { items: [] } : {}, { status, headers });
  };
  const tasks = createClient({ baseUrl: server.url }).collection("tasks");
  for (const _ of series) {
    const page = await tasks
      .limit(1)
      .page()
      .catch((error: unknown) => error);
    if (status === 200) expect(page).toEqual({ items: [] } as never);
    else expect(page).toBeInstanceOf(SocleError);
  }
  return warn.mock.calls.flat();
}

test("a service of another series is reported once, however many responses arrive", async () => {
  const message = `This client is of Socle ${SERIES}, the service of Socle 7.5`;
  expect(await told([SERIES, "7.5", "7.5", SERIES, "7.6"])).toEqual([message]);
});

test("each client reports, also with the first refusal", async () => {
  expect(await told(["7.5"], 400)).toHaveLength(1);
  warn.mockClear();
  expect(await told(["0.0"], 404)).toHaveLength(1);
});

test("the service of the same series, and responses without a series, are not reported", async () => {
  expect(await told([SERIES, null, SERIES])).toEqual([]);
});
