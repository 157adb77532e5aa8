/**
 * An issuer of certificates for tests: the part of RFC 8555 that a client with HTTP-01 needs. The issuer checks signatures, nonces
 * and addresses, looks at the challenge over HTTP, and signs the requested certificate.
 */
import {
  BasicConstraintsExtension,
  Pkcs10CertificateRequest,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";
import { calculateJwkThumbprint, type FlattenedJWSInput, flattenedVerify, importJWK, type JWK } from "jose";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const dayMs = 86_400_000;

interface AcmeOrder {
  status: string;
  domains: string[];
  certificate: string | null;
}

interface Authorization {
  order: AcmeOrder;
  domain: string;
  token: string;
  status: string;
  error?: object;
}

export interface AcmeServer {
  readonly directory: string;
  /** The issuer's own certificate, in PEM. */
  readonly issuer: string;
  /** The numbers of accounts, orders and certificates made so far. */
  readonly counts: { accounts: number; orders: number; certificates: number };
  /** Whether orders are refused. */
  isRefusing: boolean;
  stop(): Promise<void>;
}

/** @param validationPort the port of this machine that stands for port 80 of every name. */
export async function startAcmeServer(validationPort: number, lifeMs = 90 * dayMs): Promise<AcmeServer> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const now = Date.now();
  const issuer = await X509CertificateGenerator.createSelfSigned({
    name: "CN=Issuer of tests",
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(now - dayMs),
    notAfter: new Date(now + 365 * dayMs),
    serialNumber: "01",
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
  });
  const nonces = new Set<string>();
  /** The keys of the accounts, by the address of the account. */
  const accounts = new Map<string, JWK>();
  const orders: AcmeOrder[] = [];
  const authorizations: Authorization[] = [];
  const counts = { accounts: 0, orders: 0, certificates: 0 };

  const problem = (status: number, type: string, detail: string): Response =>
    Response.json(
      { type: `urn:ietf:params:acme:error:${type}`, detail, status },
      { status, headers: { "Content-Type": "application/problem+json" } },
    );

  async function look({ domain, token }: Authorization, account: JWK): Promise<string | null> {
    const wanted = `${token}.${await calculateJwkThumbprint(account)}`;
    const path = `http://127.0.0.1:${validationPort}/.well-known/acme-challenge/${token}`;
    const answer = await fetch(path, { headers: { Host: domain }, redirect: "manual" }).catch(() => null);
    if (answer === null) return `${domain} does not answer`;
    return answer.status === 200 && (await answer.text()) === wanted ? null : `${domain} answers something else`;
  }

  async function sign(csr: string, order: AcmeOrder): Promise<string | null> {
    const request = new Pkcs10CertificateRequest(Buffer.from(csr, "base64url"));
    const extension = request.extensions.find((each) => each instanceof SubjectAlternativeNameExtension);
    const names = extension?.names.items.map(({ value }) => value) ?? [];
    if (!(await request.verify()) || names.sort().join() !== [...order.domains].sort().join()) return null;
    const certificate = await X509CertificateGenerator.create({
      subject: "",
      issuer: issuer.subject,
      publicKey: request.publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: algorithm,
      notBefore: new Date(Date.now() - 1_000),
      notAfter: new Date(Date.now() + lifeMs),
      serialNumber: Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString("hex"),
      extensions: [new SubjectAlternativeNameExtension(order.domains.map((value) => ({ type: "dns", value })))],
    });
    return `${certificate.toString("pem")}\n${issuer.toString("pem")}\n`;
  }

  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const answer = await answerTo(request);
      const nonce = crypto.randomUUID().replaceAll("-", "");
      nonces.add(nonce);
      answer.headers.set("Replay-Nonce", nonce);
      return answer;
    },
  });
  const base = `http://127.0.0.1:${server.port}`;

  /** The account that signed a request, and the payload; a text that describes the error of a wrong request. */
  async function signedBy(
    request: Request,
  ): Promise<{ kid: string; account: JWK; payload: Record<string, unknown> } | string> {
    const jws = (await request.json()) as FlattenedJWSInput & { protected: string };
    const header = JSON.parse(Buffer.from(jws.protected, "base64url").toString());
    if (header.url !== request.url) return "the address is another";
    if (!nonces.delete(header.nonce)) return "the nonce is not one";
    const account: JWK | undefined = header.jwk ?? accounts.get(header.kid);
    if (account === undefined) return "there is no such account";
    const { payload } = await flattenedVerify(jws, await importJWK(account, header.alg));
    const text = new TextDecoder().decode(payload);
    const kid = header.kid ?? `${base}/account/${await calculateJwkThumbprint(account)}`;
    return { kid, account, payload: text === "" ? {} : JSON.parse(text) };
  }

  const shownOrder = (order: AcmeOrder): object => {
    const id = orders.indexOf(order);
    return {
      status: order.status,
      identifiers: order.domains.map((value) => ({ type: "dns", value })),
      authorizations: authorizations.flatMap((each, n) => (each.order === order ? [`${base}/authz/${n}`] : [])),
      finalize: `${base}/finalize/${id}`,
      ...(order.certificate !== null && { certificate: `${base}/cert/${id}` }),
    };
  };
  const shownChallenge = (each: Authorization): object => ({
    type: "http-01",
    url: `${base}/challenge/${authorizations.indexOf(each)}`,
    token: each.token,
    status: each.status,
    ...(each.error !== undefined && { error: each.error }),
  });

  async function answerTo(request: Request): Promise<Response> {
    const [, noun, id = ""] = new URL(request.url).pathname.split("/");
    if (noun === "directory")
      return Response.json({
        newNonce: `${base}/nonce`,
        newAccount: `${base}/new-account`,
        newOrder: `${base}/new-order`,
      });
    if (noun === "nonce") return new Response(null, { status: 200 });
    const signed = await signedBy(request);
    if (typeof signed === "string") return problem(400, "malformed", signed);
    const { kid, account, payload } = signed;
    if (noun === "new-account") {
      const isNew = !accounts.has(kid);
      if (isNew) counts.accounts += 1;
      accounts.set(kid, account);
      return Response.json({ status: "valid" }, { status: isNew ? 201 : 200, headers: { Location: kid } });
    }
    if (noun === "account") return Response.json({ status: "valid" });
    if (noun === "new-order") {
      counts.orders += 1;
      if (issuing.isRefusing) return problem(403, "rejectedIdentifier", "this name gets nothing\nof this issuer");
      const domains = (payload["identifiers"] as { value: string }[]).map(({ value }) => value);
      const order: AcmeOrder = { status: "pending", domains, certificate: null };
      orders.push(order);
      for (const domain of domains)
        authorizations.push({ order, domain, token: crypto.randomUUID(), status: "pending" });
      const headers = { Location: `${base}/order/${orders.length - 1}` };
      return Response.json(shownOrder(order), { status: 201, headers });
    }
    const authorization = authorizations[Number(id)];
    const order = orders[Number(id)];
    if (noun === "authz" && authorization !== undefined) {
      const { domain, status } = authorization;
      return Response.json({
        status,
        identifier: { type: "dns", value: domain },
        challenges: [shownChallenge(authorization)],
      });
    }
    if (noun === "challenge" && authorization !== undefined) {
      const trouble = await look(authorization, account);
      authorization.status = trouble === null ? "valid" : "invalid";
      if (trouble !== null) authorization.error = { type: "urn:ietf:params:acme:error:connection", detail: trouble };
      const own = authorizations.filter((each) => each.order === authorization.order);
      if (own.every(({ status }) => status === "valid")) authorization.order.status = "ready";
      if (trouble !== null) authorization.order.status = "invalid";
      return Response.json(shownChallenge(authorization));
    }
    if (noun === "finalize" && order?.status === "ready") {
      order.certificate = await sign(String(payload["csr"]), order);
      if (order.certificate === null) return problem(400, "badCSR", "the request is not for these names");
      order.status = "valid";
      counts.certificates += 1;
    }
    if (noun === "cert" && order !== undefined && order.certificate !== null)
      return new Response(order.certificate, { headers: { "Content-Type": "application/pem-certificate-chain" } });
    if ((noun === "order" || noun === "finalize") && order !== undefined)
      return Response.json(shownOrder(order), { headers: { Location: `${base}/order/${id}` } });
    return problem(404, "malformed", "there is no such thing");
  }

  const issuing: AcmeServer = {
    directory: `${base}/directory`,
    issuer: new X509Certificate(issuer.rawData).toString("pem"),
    counts,
    isRefusing: false,
    stop: () => server.stop(true),
  };
  return issuing;
}
