/** The example shop under load and `kill -9`: orders, lines, stock and runs agree after each kill, and no acknowledged order is lost. */
// Promises: W5.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { TokenResponse } from "@socle/protocol";
import { randomNumbers, randomSeed } from "../packages/server/test/random.ts";
import { copyExample, post, type Running, serve, temporaryFolder, until } from "./kit.ts";

const admin = { email: "admin@example.com", password: "a long password" };
const env = {
  SERVICE_ADMIN_EMAIL: admin.email,
  SERVICE_ADMIN_PASSWORD: admin.password,
  // The time of a request to an endpoint has the wait for the orders before. On a busy machine, hundreds of orders take longer than the default.
  SERVICE_SCRIPTS_TIMEOUT: "5m",
};
const kills = 4;
const stock = 100_000;
/** A product that is sold out soon, and a coupon that is used up soon. */
const [rareStock, uses] = [60, 30];

/** Orders until the service is gone; notes the acknowledged orders. The last product is sold out after a while, and the coupon is used up. */
async function buy(
  server: Running,
  token: string,
  bought: { products: readonly string[]; orders: string[] },
): Promise<void> {
  for (let n = 0; ; n += 1) {
    const product = bought.products[n % bought.products.length];
    const headers = { Authorization: `Bearer ${token}` };
    const body = { items: [{ product, quantity: 1 + (n % 3) }], ...(n % 5 === 0 && { coupon: "SPRING" }) };
    const answer = await post(`${server.url}/api/function/orders`, body, headers).catch(() => null);
    // A connection that breaks in the body has told nothing.
    const order = (await answer?.json().catch(() => null)) as { id?: string; error?: object } | null | undefined;
    if (answer === null || order === null || order === undefined) return;
    expect([answer.status, order]).toEqual(order.error === undefined ? [201, order] : [400, order]);
    if (order.id !== undefined) bought.orders.push(order.id);
  }
}

test("killed again and again while 16 customers order: nothing is lost, doubled or half", async () => {
  const random = randomNumbers(randomSeed("shop"));
  const cwd = temporaryFolder();
  copyExample("shop", cwd);
  const orders: string[] = [];
  let products: readonly string[] = [];
  for (let round = 0; round <= kills; round += 1) {
    const server = await serve(cwd, { args: ["--port", "0"], env });
    const login = (await (await post(`${server.url}/api/auth/login`, admin)).json()) as TokenResponse;
    const headers = { Authorization: `Bearer ${login.accessToken}` };
    if (round === 0) {
      products = await Promise.all(
        ["Chair", "Table", "Rare"].map(async (name) => {
          const product = { name, price: 100, stock: name === "Rare" ? rareStock : stock };
          const made = await post(`${server.url}/api/products`, product, headers);
          return ((await made.json()) as { id: string }).id;
        }),
      );
      await post(`${server.url}/api/coupons`, { code: "SPRING", percent: 10, uses }, headers);
    }
    using database = new Database(join(cwd, "data/shop.db"), { readonly: true });
    const all = <T>(sql: string): T[] => database.query<T, []>(sql).all();
    const known = new Set(all<{ id: string }>("SELECT id FROM orders").map(({ id }) => id));
    expect(orders.filter((id) => !known.has(id))).toEqual([]);
    expect(all('SELECT id FROM orders WHERE id NOT IN (SELECT "order" FROM lines)')).toEqual([]);
    expect(
      all(
        `SELECT name FROM products WHERE stock + (SELECT coalesce(sum(quantity), 0) FROM lines WHERE product = products.id) <> iif(name = 'Rare', ${rareStock}, ${stock})`,
      ),
    ).toEqual([]);
    const redeemed = all<{ n: number }>("SELECT count(*) AS n FROM redemptions")[0]?.n ?? 0;
    expect(redeemed).toBeLessThanOrEqual(uses);
    const discounted = all(
      'SELECT id FROM orders WHERE total % 100 <> 0 AND id NOT IN (SELECT "order" FROM redemptions)',
    );
    expect(discounted).toEqual([]);
    // Each order has the run that confirms the order.
    await until(() => all("SELECT id FROM orders WHERE confirmed = 0").length === 0);
    if (round === kills) break;
    const before = orders.length;
    const customers = Array.from({ length: 16 }, () => buy(server, login.accessToken, { products, orders }));
    await until(() => orders.length > before + 20 + random() * 100);
    server.signal("SIGKILL");
    await server.exited;
    await Promise.all(customers);
  }
  expect(orders.length).toBeGreaterThan(kills * 20);
});

test("660 orders of a product at once: every order gets a response, and no order is made twice or lost", async () => {
  const cwd = temporaryFolder();
  copyExample("shop", cwd);
  const server = await serve(cwd, { args: ["--port", "0"], env });
  const login = (await (await post(`${server.url}/api/auth/login`, admin)).json()) as TokenResponse;
  const headers = { Authorization: `Bearer ${login.accessToken}` };
  const made = await post(`${server.url}/api/products`, { name: "Chair", price: 100, stock: 660 }, headers);
  const { id: product } = (await made.json()) as { id: string };
  const answers = await Promise.all(
    Array.from({ length: 660 }, () =>
      post(`${server.url}/api/function/orders`, { items: [{ product, quantity: 1 }] }, headers),
    ),
  );
  expect(answers.filter(({ status }) => status !== 201)).toEqual([]);
  const ids = await Promise.all(answers.map(async (answer) => ((await answer.json()) as { id: string }).id));
  expect(new Set(ids).size).toBe(660);
  using database = new Database(join(cwd, "data/shop.db"), { readonly: true });
  const stored = database.query<{ id: string }, []>("SELECT id FROM orders").all();
  expect(new Set(stored.map(({ id }) => id))).toEqual(new Set(ids));
  expect(database.query("SELECT stock FROM products").all()).toEqual([{ stock: 0 }]);
});
