/** Telemetry: sends the spans of a process that serves to the collector of the configuration. */
import type { Config } from "../base/config/index.ts";
import type { Logger } from "../base/logging/index.ts";
import { eventSpan, mailSpan, requestSpan, SpanExporter } from "../operate/traces/index.ts";
import type { Service } from "./service.ts";

/** The most that a stop waits for the collector, after the mails. */
export const spansMs = 1_000;

interface TelemetryParts {
  readonly config: Config;
  readonly logger: Logger;
  readonly service: Pick<Service, "events" | "mails">;
  readonly version: string;
}

/** Sends the spans of the requests that this process and its reader processes answer. Null without a collector. */
export function openTelemetry({ config, logger, service, version }: TelemetryParts): SpanExporter | null {
  const url = config["telemetry.otlp.url"];
  if (url === undefined) return null;
  const spans = new SpanExporter(url, { config, logger: logger.for("telemetry"), version });
  service.events.requests.watcher = (request) => spans.add(requestSpan(request));
  return spans;
}

/** In the process that writes: sends the spans of transactions, runs and mails, too. */
export function openWriterTelemetry(parts: TelemetryParts): SpanExporter | null {
  const { events, mails } = parts.service;
  const spans = openTelemetry(parts);
  if (spans === null) return null;
  events.listen((event) => {
    const span = eventSpan(event);
    if (span !== null) spans.add(span);
  });
  mails.watcher = (mail) => spans.add(mailSpan(mail));
  return spans;
}
