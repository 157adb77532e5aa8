/**
 * The libraries of providers and of passkeys are loaded with the first use: a service with providers that nobody uses has the
 * memory of a service without providers.
 */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { FakeProvider } from "../../../test/fake-provider.ts";
import { temporaryFolder } from "../../../test/kit.ts";

const server = join(import.meta.dir, "../../..");
const from = (path: string): string => JSON.stringify(join(server, path));

test("neither library is loaded by a start, a registration and a login; each is loaded by its own first use", async () => {
  const fake = new FakeProvider();
  const folder = temporaryFolder();
  const config = { publicUrl: "https://example.com", auth: { providers: { one: fake.settings } } };
  await Bun.write(join(folder, "config.json"), JSON.stringify(config));
  const script = `
    const { openService } = await import(${from("src/app/index.ts")});
    const { loadConfig } = await import(${from("src/base/config/index.ts")});
    const { Logger } = await import(${from("src/base/logging/index.ts")});
    const { SoftPasskey } = await import(${from("test/soft-authenticator.ts")});
    const { config } = await loadConfig({ file: ${JSON.stringify(join(folder, "config.json"))}, environment: {} });
    const logger = new Logger({ level: "ERROR", sinks: [] });
    const { auth, providers, close } = await openService({ config, logger, onFatal: () => undefined }).then((service) => ({
      auth: service.auth,
      providers: service.providers,
      close: () => service.close(),
    }));
    const states = [];
    const look = (step) => {
      const paths = Object.keys(require.cache);
      const loaded = ["openid-client", "@simplewebauthn"].filter((name) => paths.some((path) => path.includes(name)));
      states.push([step, ...loaded]);
    };
    look("start");
    const credentials = { email: "ann@example.com", password: "correct horse" };
    const by = { key: "test", headers: new Headers() };
    await auth.registrations.register(credentials, by);
    const { accessToken } = await auth.login(credentials, by);
    const caller = await auth.callers.authenticate(accessToken);
    providers.list();
    const options = auth.passkeys.creation(caller, by);
    look("login");
    const challenge = "c".repeat(43);
    await providers.begin("one", { redirect: "https://example.com/", challenge }, { secret: "s".repeat(43), caller: by });
    look("provider");
    const passkey = new SoftPasskey().register(options, { origin: "https://example.com" });
    await auth.passkeys.register(caller, { passkey }, by);
    look("passkey");
    console.log(JSON.stringify(states));
    await close();
  `;
  const child = Bun.spawn([process.execPath, "-e", script], { cwd: folder, stdout: "pipe", stderr: "pipe" });
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect(errors).toBe("");
  expect(JSON.parse(output)).toEqual([
    ["start"],
    ["login"],
    ["provider", "openid-client"],
    ["passkey", "openid-client", "@simplewebauthn"],
  ]);
});
