/** The library of SMTP is loaded with the first mail: a service that sends none has the memory of a service without mail. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { temporaryFolder } from "../../../test/kit.ts";
import { SmtpSink } from "../../../test/smtp-sink.ts";

const source = join(import.meta.dir, "../..");

test("without a mail, the library is not loaded", async () => {
  await using sink = await SmtpSink.start();
  const folder = temporaryFolder();
  await Bun.write(
    join(folder, "config.json"),
    JSON.stringify({ mail: { from: "shop@example.com", smtp: sink.address }, publicUrl: "https://example.com" }),
  );
  const script = `
    const { openService } = await import(${JSON.stringify(join(source, "app/index.ts"))});
    const { loadConfig } = await import(${JSON.stringify(join(source, "base/config/index.ts"))});
    const { Logger } = await import(${JSON.stringify(join(source, "base/logging/index.ts"))});
    const { config } = await loadConfig({ file: ${JSON.stringify(join(folder, "config.json"))}, environment: {} });
    const logger = new Logger({ level: "ERROR", sinks: [] });
    const service = await openService({ config, logger, onFatal: () => undefined });
    const loaded = () => Object.keys(require.cache).filter((path) => path.includes("nodemailer")).length > 0;
    service.mails.start(new AbortController().signal);
    const states = [loaded()];
    await service.database.transact((tx) => service.mails.add(tx, { kind: "taken", to: "ann@example.com", values: {} }));
    while (service.mails.totals().sent === 0) await Bun.sleep(5);
    states.push(loaded());
    console.log(JSON.stringify(states));
    await service.mails.stop(0);
    await service.close();
  `;
  const child = Bun.spawn([process.execPath, "-e", script], { cwd: folder, stdout: "pipe", stderr: "pipe" });
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect([errors, output]).toEqual(["", "[false,true]\n"]);
  expect(sink.taken.map(({ to }) => to)).toEqual(["ann@example.com"]);
});
