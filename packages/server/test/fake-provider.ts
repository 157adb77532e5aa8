/**
 * Fake provider of sign-ins on this machine: OpenID Connect with discovery, and the APIs of GitHub, Discord and Facebook. The
 * provider keeps the rules of the protocol, so that a client that breaks a rule fails; faults are switched on one by one.
 */
import { afterAll } from "bun:test";
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";

/** The claims of a person. */
type Person = Readonly<Record<string, unknown>> & { readonly sub: string };

interface IssuedCode {
  readonly person: Person;
  readonly parameters: URLSearchParams;
}

interface Faults {
  /** Claims of the ID token that replace the right claims; undefined leaves a claim out. */
  claims?: Record<string, unknown>;
  /** How the ID token is signed; by default with the published key. */
  sign?: "none" | "HS256" | "foreign";
  /** Members of the header of the ID token beside `alg` and `kid`. */
  header?: Record<string, unknown>;
  /** Changes the text of the ID token, which is signed. */
  token?: (text: string) => string;
  /** Answers in place of the provider, by path. */
  answers?: Record<string, (request: Request) => Response | Promise<Response>>;
  /** The `iss` of the answer to the browser; null for no `iss`. */
  iss?: string | null;
  /** Where the email stands: in the ID token, or only at the user endpoint. */
  emailAt?: "token" | "userinfo";
}

const firstPair = await generateKeyPair("RS256");
const foreignPair = await generateKeyPair("RS256");
const published = async ({ publicKey }: typeof firstPair, kid: string) => ({
  ...(await exportJWK(publicKey)),
  kid,
  alg: "RS256",
  use: "sig",
});
const firstKey = await published(firstPair, "k1");

const tokenPaths = ["/token", "/login/oauth/access_token", "/api/oauth2/token", "/oauth/access_token", "/auth/token"];

export class FakeProvider {
  readonly clientId = "client-of-socle";
  readonly clientSecret = "a secret: +/%";
  readonly #host: string;
  readonly #server: Bun.Server<undefined>;
  readonly #codes = new Map<string, IssuedCode>();
  readonly #tokens = new Map<string, Person>();
  /** The paths of the requests. */
  readonly requests: string[] = [];
  #pair = firstPair;
  #key = firstKey;
  faults: Faults = {};
  /** Resources that an access token opens, by path. */
  resources: Record<string, unknown> = {};
  /** Called with the parameters of a request for tokens. */
  onToken: (parameters: URLSearchParams) => void = () => undefined;

  /** @param host a name of this machine: pages of different hosts are of different sites. */
  constructor(host: "127.0.0.1" | "localhost" = "127.0.0.1") {
    this.#host = host;
    this.#server = Bun.serve({ port: 0, hostname: host, fetch: (request) => this.#answer(request) });
    afterAll(() => this.#server.stop(true));
  }

  get issuer(): string {
    return `http://${this.#host}:${this.#server.port}`;
  }

  /** Signs with a new key from now on, and publishes this key alone. */
  async rotate(kid: string): Promise<void> {
    this.#pair = await generateKeyPair("RS256");
    this.#key = await published(this.#pair, kid);
  }

  /** The settings of this provider in `auth.providers`. */
  get settings(): Record<string, unknown> {
    return { issuer: this.issuer, clientId: this.clientId, clientSecret: this.clientSecret };
  }

  /** A person signs in at the address to which the service has sent the browser. Answers the address to which the browser goes. */
  approve(address: string, person: Person): string {
    const { searchParams: parameters } = new URL(address);
    if (parameters.get("client_id") !== this.clientId || parameters.get("response_type") !== "code")
      throw new Error(`Not a request of this client: ${address}`);
    if (parameters.get("code_challenge_method") !== "S256") throw new Error("PKCE is missing");
    const code = crypto.randomUUID();
    this.#codes.set(code, { person, parameters });
    const back = new URL(parameters.get("redirect_uri") ?? "");
    back.searchParams.set("code", code);
    back.searchParams.set("state", parameters.get("state") ?? "");
    const { iss = this.issuer } = this.faults;
    if (iss !== null) back.searchParams.set("iss", iss);
    return back.href;
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    this.requests.push(pathname);
    const odd = this.faults.answers?.[pathname];
    if (odd !== undefined) return odd(request);
    if (pathname === "/.well-known/openid-configuration") return Response.json(this.#metadata());
    if (pathname === "/jwks" || pathname === "/auth/keys") return Response.json({ keys: [this.#key] });
    if (tokenPaths.includes(pathname)) return this.#token(request);
    return this.#resource(request, pathname);
  }

  #metadata(): object {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      userinfo_endpoint: `${this.issuer}/userinfo`,
      jwks_uri: `${this.issuer}/jwks`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      // Wrong algorithms are offered, too: the client must not take them.
      id_token_signing_alg_values_supported: ["RS256", "none", "HS256"],
      authorization_response_iss_parameter_supported: this.faults.iss === undefined,
    };
  }

  async #token(request: Request): Promise<Response> {
    const parameters = new URLSearchParams(await request.text());
    this.onToken(parameters);
    const code = parameters.get("code") ?? "";
    const issued = this.#codes.get(code);
    // A code works once.
    this.#codes.delete(code);
    const refuse = (error: string): Response => Response.json({ error }, { status: 400 });
    if (!this.#isClient(request, parameters)) return refuse("invalid_client");
    if (issued === undefined) return refuse("invalid_grant");
    const asked = issued.parameters;
    if (parameters.get("redirect_uri") !== asked.get("redirect_uri")) return refuse("invalid_grant");
    const challenge = new Bun.CryptoHasher("sha256").update(parameters.get("code_verifier") ?? "").digest("base64url");
    if (challenge !== asked.get("code_challenge")) return refuse("invalid_grant");
    const accessToken = crypto.randomUUID();
    this.#tokens.set(accessToken, issued.person);
    const isOpenId = (asked.get("scope") ?? "").split(" ").includes("openid");
    const idToken = isOpenId ? { id_token: await this.#idToken(issued) } : {};
    return Response.json({ access_token: accessToken, token_type: "bearer", expires_in: 60, ...idToken });
  }

  #isClient(request: Request, parameters: URLSearchParams): boolean {
    const basic = /^Basic (.+)$/.exec(request.headers.get("authorization") ?? "")?.[1];
    const [id, secret] =
      basic === undefined
        ? [parameters.get("client_id"), parameters.get("client_secret")]
        : atob(basic)
            .split(":")
            .map((part) => decodeURIComponent(part.replaceAll("+", " ")));
    // The secret of a client at Apple is a JWT, which the test looks at.
    const isJwt = request.url.endsWith("/auth/token") && secret?.split(".").length === 3;
    return id === this.clientId && (secret === this.clientSecret || isJwt);
  }

  async #idToken({ person, parameters }: IssuedCode): Promise<string> {
    const now = Math.floor(Date.now() / 1_000);
    const { emailAt = "token", sign, claims: changes = {}, header = {}, token: changed = String } = this.faults;
    const { email, email_verified, ...others } = person;
    const right = {
      iss: this.issuer,
      aud: this.clientId,
      nonce: parameters.get("nonce"),
      iat: now,
      exp: now + 60,
      ...others,
      ...(emailAt === "token" && { email, email_verified }),
    };
    const claims = JSON.parse(JSON.stringify({ ...right, ...changes }));
    if (sign === "none") return new UnsecuredJWT(claims).encode();
    const token = new SignJWT(claims).setProtectedHeader({
      ...header,
      alg: sign === "HS256" ? "HS256" : "RS256",
      kid: this.#key.kid,
    });
    // HS256 with the secret of the client.
    const secret = new TextEncoder().encode(this.clientSecret);
    const key = sign === "HS256" ? secret : (sign === "foreign" ? foreignPair : this.#pair).privateKey;
    const crit = Object.fromEntries(Object.keys(header).map((name) => [name, true]));
    return changed(await token.sign(key, { crit }));
  }

  #resource(request: Request, pathname: string): Response {
    const person = this.#tokens.get(/^Bearer (.+)$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? "");
    if (person === undefined) return Response.json({ error: "invalid_token" }, { status: 401 });
    const resource = pathname === "/userinfo" ? person : this.resources[pathname];
    return resource === undefined ? Response.json({}, { status: 404 }) : Response.json(resource);
  }
}
