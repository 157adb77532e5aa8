/**
 * The process of a service under test: the whole service with the project's definitions, code and configuration, but for everything
 * that leads out of the test, on separate data, and with a clock that the test moves. The process follows the command, which asks
 * on behalf of a test file.
 */
import { join, resolve } from "node:path";
import type { TestCall, TestMail, TestUser } from "@socle/protocol";
import { type App, seedFrom, startApp } from "../app/index.ts";
import { Channel, type ChannelMessage } from "../base/channel/index.ts";
import { type Config, duration, type LoadedConfig, loadConfig } from "../base/config/index.ts";
import {
  AppError,
  messageOf,
  moveTime,
  quote,
  reasonsOf,
  SetupError,
  system,
  timeOffset,
} from "../base/kernel/index.ts";
import { Logger, LogRing, lineOf } from "../base/logging/index.ts";
import { readEnvironmentFile, useFetchMocks } from "../code/script-host/index.ts";
import type { Mails } from "../people/mail/index.ts";
import { reasonOfEnd } from "../store/database/index.ts";
import type { ForCommand, ForService, TestServiceOptions } from "./running-service.ts";
import { TestClock } from "./test-clock.ts";

type Environment = { readonly [name: string]: string | undefined };

const span = duration(0);
/** The password of users without a password of the test. */
const usualPassword = "password of a test";

/** Makes this process a service under test. The command ends the process. */
export async function runTestService(options: TestServiceOptions, environment: Environment): Promise<void> {
  const starting = Promise.withResolvers<TestService>();
  const command = new Channel<ForCommand, ForService>((message) => process.send?.(message), {
    carryOut: async (call) => {
      try {
        return await carryOut(call, await starting.promise);
      } catch (thrown) {
        throw new Error(reasonsOf(thrown));
      }
    },
  });
  process.on("message", (message: ChannelMessage) => command.receive(message));
  // Before any object takes `Date.now` as its clock.
  moveTime(0);
  try {
    const service = await start(options, environment, (line) => command.tell("log", line));
    starting.resolve(service);
    command.tell("ready", { url: service.app.url, endpointsPrefix: service.endpointsPrefix });
  } catch (thrown) {
    command.tell("failed", messageOf(thrown));
  }
}

interface TestService {
  readonly app: App;
  readonly clock: TestClock;
  /** The folder of the project. */
  readonly folder: string;
  readonly endpointsPrefix: string;
}

/** @throws SetupError for a configuration, a definition or a file of code that does not load. */
async function start(
  options: TestServiceOptions,
  environment: Environment,
  onLog: (line: string) => void,
): Promise<TestService> {
  const { config, live } = await testConfig(options);
  const { folder } = config;
  const log = new LogRing();
  let isStarted = false;
  const logger = new Logger({
    level: "INFO",
    sinks: [
      (entry) => log.add(entry),
      (entry) => {
        const isShown = options.logLevel === "INFO" || entry.level === "WARN" || entry.level === "ERROR";
        if (isStarted && isShown) onLog(lineOf(entry, "text"));
      },
    ],
  });
  const clock = new TestClock();
  const app = await startApp({
    config,
    live,
    logger,
    log,
    clock,
    onFatal: (error) => logger.error(`${reasonOfEnd(error)}; nothing more is accepted`, { error }),
    environment: { ...readEnvironmentFile(folder, ".env.test"), ...environment, NODE_ENV: "test" },
    adminCommand: "socle admin create EMAIL",
  });
  const problems = app.scripts.host.problems().map(({ path, message }) => `${path} does not load: ${message}`);
  if (problems.length > 0) throw new SetupError(problems.join("\n"));
  isStarted = true;
  return { app, clock, folder, endpointsPrefix: config["endpoints.prefix"] };
}

async function carryOut(call: TestCall, service: TestService): Promise<unknown> {
  const { app, folder } = service;
  switch (call.name) {
    case "idle":
      await app.scripts.settled();
      return null;
    case "advance":
      return advance(call.duration, service);
    case "user":
      return makeUser(call.user, service);
    case "fetch":
      useFetchMocks(call.mocks);
      app.scripts.host.followTest();
      return null;
    case "mails":
      return app.service.mails.all().map(testMailOf);
    case "seed":
      return seedFrom(resolve(folder, call.file), app.service);
  }
}

async function advance(text: string, { app: { scripts }, clock }: TestService): Promise<number> {
  const milliseconds = typeof text === "string" ? span.parse(text) : undefined;
  if (milliseconds === undefined)
    throw new AppError("bad_request", `${quote(text)} is no duration; allowed: ${span.allowed}`);
  await clock.advance(milliseconds, {
    onMove: () => scripts.host.followTest(),
    settle: () => scripts.settled(),
  });
  return timeOffset();
}

function testMailOf({ mail, secrets }: ReturnType<Mails["all"]>[number]): TestMail {
  const { kind, recipient, subject, text, html } = mail;
  return { kind, to: recipient, subject, text, html, link: secrets["link"] ?? null, code: secrets["code"] ?? null };
}

/** No hook and no setting is asked whether the user may register: the test makes the user. @throws AppError `conflict` for a user of another role. */
async function makeUser(
  { email, role, password }: TestUser,
  { app }: TestService,
): Promise<{ email: string; password: string }> {
  const { auth, database } = app.service;
  const credentials = { email, password: password ?? usualPassword.padEnd(auth.users.passwordMinLength, ".") };
  const found = auth.users.findByEmail(email);
  if (found === null) {
    const values = await auth.users.prepare(credentials);
    await database.transact((tx) => auth.users.create(tx, { ...values, role: role ?? "authenticated" }, system));
  } else if (role !== undefined && role !== found.role)
    throw new AppError("conflict", `${email} is there already, with the role ${found.role}.`);
  return credentials;
}

/**
 * Reads the configuration file, and no variable of the environment: the variables are for a service in use. Data, address,
 * backups, buckets and secrets are the test's own.
 * @throws SetupError for a file that cannot be read and for the first value that is not allowed.
 */
async function testConfig({ config: file, data }: TestServiceOptions): Promise<LoadedConfig> {
  const loaded = await loadConfig({ file, environment: {} });
  const config: Config = {
    ...loaded.config,
    host: "127.0.0.1",
    port: 0,
    trustedProxies: 0,
    database: join(data, "socle.db"),
    "database.mustExist": false,
    storage: join(data, "storage"),
    "backup.target": join(data, "backups"),
    "dashboard.enabled": false,
    // All users of a test have the same address, and sign in at once.
    "limits.rate.register": null,
    "limits.rate.login": null,
    "limits.rate.refresh": null,
    "limits.requests": [],
    // Each client that a test asks for is a session, and no session may end another session.
    "limits.sessionsPerUser": 10_000,
    "tls.cert": undefined,
    "tls.key": undefined,
    "tls.redirectPort": undefined,
    "tls.acme.domains": undefined,
    "tls.acme.email": undefined,
    "auth.jwtSecret": undefined,
    "admin.email": undefined,
    "admin.password": undefined,
    // Mails stay in the outbox, and are on, because the sender of a service in use is often set by the environment.
    "mail.from": loaded.config["mail.from"] ?? "service@example.com",
    "mail.smtp": undefined,
    publicUrl: loaded.config.publicUrl ?? "https://example.com",
    "backup.schedule": undefined,
    "backup.recipient": undefined,
    "s3.endpoint": undefined,
    "s3.region": undefined,
    "s3.accessKeyId": undefined,
    "s3.secretAccessKey": undefined,
    "metrics.token": undefined,
  };
  return { ...loaded, config: Object.freeze(config) };
}
