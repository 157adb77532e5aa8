/** A certificate by ACME: the executable, and an issuer that looks at the challenges over HTTP. */
import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { startAcmeServer } from "../packages/server/test/acme-server.ts";
import { freePort, project, type Running, serve, singleService, socle, temporaryFolder, until } from "./kit.ts";

singleService("certificate");

const domains = ["api.example.com", "www.example.com"];

async function issued() {
  const redirectPort = await freePort();
  const issuer = await startAcmeServer(redirectPort);
  afterAll(() => issuer.stop());
  const acme = { domains, email: "me@example.com", directory: issuer.directory };
  const cwd = await project({ config: { host: "127.0.0.1", tls: { redirectPort, acme } } });
  return { cwd, issuer, redirectPort };
}

/** The issuer of the certificate that the service shows for a name; null when `ca` does not verify the certificate. */
function issuerOf({ url }: Running, servername: string, ca: string): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port: Number(new URL(url).port), servername, ca }, () => {
      resolve(String(socket.getPeerCertificate().issuer.CN));
      socket.destroy();
    });
    socket.on("error", () => resolve(null));
  });
}

const asked = (server: Running): number => server.output().split("Ordering a certificate").length - 1;

test("the first start gets a certificate for all names, and the next start uses the certificate and the account", async () => {
  const { cwd, issuer, redirectPort } = await issued();
  const server = await serve(cwd);
  await until(() => server.output().includes("The certificate was replaced"));
  for (const name of domains) expect(await issuerOf(server, name, issuer.issuer)).toBe("Issuer of tests");
  expect(await issuerOf(server, "other.example.com", issuer.issuer)).toBeNull();
  expect(issuer.counts).toEqual({ accounts: 1, orders: 1, certificates: 1 });
  expect(server.output()).not.toContain(" ERROR ");

  const folder = join(cwd, "socle.db-tls");
  const own = join(folder, readdirSync(folder)[0] ?? "");
  expect([folder, own].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o700]);
  expect(readdirSync(own).sort()).toEqual(["account.pem", "certificate.pem"]);
  for (const file of readdirSync(own)) expect([file, statSync(join(own, file)).mode & 0o777]).toEqual([file, 0o600]);
  expect(server.output()).not.toContain(readFileSync(join(own, "account.pem"), "utf8").split("\n")[1] ?? "");

  // The answer to the issuer is gone, and every other address leads to HTTPS.
  const path = `http://127.0.0.1:${redirectPort}/.well-known/acme-challenge/anything`;
  expect((await fetch(path, { redirect: "manual" })).status).toBe(308);
  expect(await server.stop()).toBe(0);

  const again = await serve(cwd);
  expect(await issuerOf(again, domains[0] ?? "", issuer.issuer)).toBe("Issuer of tests");
  expect(await again.stop()).toBe(0);
  expect([issuer.counts.orders, asked(again)]).toEqual([1, 0]);

  // Another name is another certificate, of the same account.
  const env = { SERVICE_TLS_ACME_DOMAINS: "api.example.com,new.example.com" };
  const wider = await serve(cwd, { env });
  await until(() => wider.output().includes("The certificate was replaced"));
  expect(await issuerOf(wider, "new.example.com", issuer.issuer)).toBe("Issuer of tests");
  expect(issuer.counts).toEqual({ accounts: 1, orders: 2, certificates: 2 });
  expect(await wider.stop()).toBe(0);
});

test("an issuer that refuses is an ERROR in a single line; the service goes on with an untrusted certificate", async () => {
  const { cwd, issuer } = await issued();
  issuer.isRefusing = true;
  const server = await serve(cwd);
  await until(() => server.output().includes("No certificate was issued"));
  expect(server.output()).toMatch(
    /ERROR No certificate was issued; the next try is in 5 minutes: this name gets nothing[^\n]*\n/,
  );
  expect(await issuerOf(server, "api.example.com", issuer.issuer)).toBeNull();
  const answer = await fetch(`${server.url}/health`, { tls: { rejectUnauthorized: false } });
  expect(answer.status).toBe(200);
  expect(issuer.counts).toEqual({ accounts: 1, orders: 1, certificates: 0 });
  expect(asked(server)).toBe(1);
  expect(await server.stop()).toBe(0);
});

test("an issuer that cannot reach the challenge reports the problem in the log", async () => {
  const { cwd, issuer } = await issued();
  // The issuer looks elsewhere.
  const server = await serve(cwd, { env: { SERVICE_TLS_REDIRECT_PORT: "0" } });
  await until(() => server.output().includes("No certificate was issued"));
  expect(server.output()).toMatch(/ERROR No certificate was issued; [^\n]*: \w+\.example\.com does not answer/);
  expect(issuer.counts.certificates).toBe(0);
  expect(await server.stop()).toBe(0);
});

describe("a start that cannot work gives the reason in a line", () => {
  const acme = { SERVICE_TLS_ACME_DOMAINS: "api.example.com", SERVICE_TLS_REDIRECT_PORT: "0" };
  test.each<[name: string, env: Record<string, string>, message: RegExp]>([
    [
      "no port for challenges",
      { SERVICE_TLS_ACME_DOMAINS: "api.example.com" },
      /tls\.acme\.domains needs tls\.redirectPort/,
    ],
    ["a certificate beside it", { ...acme, SERVICE_TLS_CERT: "a.pem" }, /tls\.acme\.domains and tls\.cert exclude/],
    ["a name for many", { ...acme, SERVICE_TLS_ACME_DOMAINS: "*.example.com" }, /"\*\.example\.com" is no full name/],
    ["no full name", { ...acme, SERVICE_TLS_ACME_DOMAINS: "localhost" }, /"localhost" is no full name/],
    [
      "no address of an issuer",
      { ...acme, SERVICE_TLS_ACME_DIRECTORY: "le" },
      /"le" is not valid for "tls\.acme\.directory"/,
    ],
  ])("%s", async (_name, env, message) => {
    const cwd = temporaryFolder();
    const { code, stderr } = await socle([], { cwd, env: { SERVICE_PORT: "0", ...env } });
    expect([code, stderr.trim().split("\n").length]).toEqual([2, 1]);
    expect(stderr).toMatch(message);
    expect(readdirSync(cwd).filter((name) => name.endsWith("-tls"))).toEqual([]);
  });
});
