import type {
  Credentials,
  ErrorBody,
  Health,
  RecordList,
  StoredRecord,
  SystemFields,
  TokenResponse,
  User,
} from "@socle/protocol";
import { SocleError } from "./error.ts";

export interface ClientOptions {
  /** Where the service is: `https://api.example.com`. */
  baseUrl: string;
  /** Tokens of an earlier session. */
  tokens?: Tokens;
  /** Called with new tokens after login, register and refresh, and with null after logout: a place to keep them. */
  onTokens?: (tokens: Tokens | null) => void;
}

type Tokens = Pick<TokenResponse, "accessToken" | "refreshToken">;

/** The values of a record to create. */
export type NewRecord<T> = Partial<Omit<T, keyof SystemFields>>;

/** The records of one collection. Every method throws `SocleError`. */
export interface CollectionClient<T extends SystemFields> {
  /** Newest first. */
  list(): Promise<T[]>;
  get(id: string): Promise<T>;
  create(values: NewRecord<T>): Promise<T>;
  /** Only the fields that are given change; null clears one. */
  update(id: string, values: Partial<T>): Promise<T>;
  delete(id: string): Promise<void>;
}

/** Talks to one Socle service as one user, or as nobody until `register` or `login`. */
export class SocleClient {
  readonly #baseUrl: string;
  readonly #onTokens: (tokens: Tokens | null) => void;
  #tokens: Tokens | null;
  #refreshing: Promise<boolean> | null = null;

  constructor(options: ClientOptions) {
    this.#baseUrl = options.baseUrl.replace(/\/+$/, "");
    this.#tokens = options.tokens ?? null;
    this.#onTokens = options.onTokens ?? (() => undefined);
  }

  get accessToken(): string | null {
    return this.#tokens?.accessToken ?? null;
  }

  health(): Promise<Health> {
    return this.#send("GET", "/health");
  }

  register(credentials: Credentials): Promise<User> {
    return this.#signIn("register", credentials);
  }

  login(credentials: Credentials): Promise<User> {
    return this.#signIn("login", credentials);
  }

  async logout(): Promise<void> {
    await this.#send("POST", "/api/auth/logout", {});
    this.#keep(null);
  }

  async me(): Promise<User> {
    const { user } = await this.#send<{ user: User }>("GET", "/api/auth/me");
    return user;
  }

  collection<T extends SystemFields = StoredRecord>(name: string): CollectionClient<T> {
    const path = `/api/${encodeURIComponent(name)}`;
    const recordPath = (id: string): string => `${path}/${encodeURIComponent(id)}`;
    return {
      list: async () => (await this.#send<RecordList<T>>("GET", path)).items,
      get: (id) => this.#send("GET", recordPath(id)),
      create: (values) => this.#send("POST", path, values),
      update: (id, values) => this.#send("PUT", recordPath(id), values),
      delete: (id) => this.#send("DELETE", recordPath(id)),
    };
  }

  async #signIn(route: "register" | "login", credentials: Credentials): Promise<User> {
    const answer = await this.#request<TokenResponse>("POST", `/api/auth/${route}`, credentials, null);
    this.#keep(answer);
    return answer.user;
  }

  /** With the access token; when that has expired, once more with a new one. */
  async #send<T>(method: string, path: string, body?: object): Promise<T> {
    const tokens = this.#tokens;
    try {
      return await this.#request<T>(method, path, body, tokens?.accessToken ?? null);
    } catch (thrown) {
      const isExpired = thrown instanceof SocleError && thrown.status === 401 && tokens !== null;
      if (!isExpired || !(await this.#refresh(tokens))) throw thrown;
      return this.#request<T>(method, path, body, this.accessToken);
    }
  }

  /** Requests that fail together share one refresh. Answers whether there are new tokens. */
  #refresh(used: Tokens): Promise<boolean> {
    if (this.#tokens !== used) return Promise.resolve(this.#tokens !== null);
    this.#refreshing ??= this.#request<TokenResponse>(
      "POST",
      "/api/auth/refresh",
      { refreshToken: used.refreshToken },
      null,
    )
      .then(
        (answer) => {
          // A login that came meanwhile is newer than this.
          if (this.#tokens === used) this.#keep(answer);
          return this.#tokens !== null;
        },
        (thrown: unknown) => {
          if (!(thrown instanceof SocleError) || thrown.status !== 401) throw thrown;
          if (this.#tokens === used) this.#keep(null);
          return this.#tokens !== null;
        },
      )
      .finally(() => {
        this.#refreshing = null;
      });
    return this.#refreshing;
  }

  #keep(answer: Tokens | null): void {
    this.#tokens = answer === null ? null : { accessToken: answer.accessToken, refreshToken: answer.refreshToken };
    this.#onTokens(this.#tokens);
  }

  async #request<T>(method: string, path: string, body: object | undefined, token: string | null): Promise<T> {
    const headers: Record<string, string> = {};
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (token !== null) headers["Authorization"] = `Bearer ${token}`;
    const response = await fetch(this.#baseUrl + path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new SocleError(response, await readError(response));
    if (response.status === 204) return undefined as T;
    // The server answers what the route's type says.
    return (await response.json()) as T;
  }
}

/** Something between client and server (a proxy) may answer with a body of its own. */
async function readError(response: Response): Promise<ErrorBody["error"]> {
  const text = await response.text();
  try {
    const body = JSON.parse(text) as Partial<ErrorBody>;
    if (body.error !== undefined) return body.error;
  } catch {
    // Not JSON: the status says what there is to say.
  }
  return { code: response.status >= 500 ? "unavailable" : "bad_request", message: `HTTP ${response.status}` };
}
