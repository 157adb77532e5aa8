/** Orders are exact, however many customers come at once. */
import { expect, service, type TestClient, test } from "socle/test";

let n = 0;

/** A product that nobody has bought yet. */
async function product(stock: number): Promise<string> {
  n += 1;
  const admin = await service.client("admin");
  return (await admin.collection("products").create({ name: `Chair ${n}`, price: 1000, stock })).id;
}

async function order(user: TestClient, body: object): Promise<Response> {
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${user.accessToken}` };
  return fetch(`${service.url}/api/function/orders`, { method: "POST", headers, body: JSON.stringify(body) });
}

test("an order takes the stock, and only its buyer reads the order", async () => {
  const [ada, bob] = [await service.client("ada@example.com"), await service.client("bob@example.com")];
  const chair = await product(3);
  const answer = await order(ada, { items: [{ product: chair, quantity: 2 }] });
  expect(answer.status).toBe(201);
  const { id } = (await answer.json()) as { id: string };
  await service.idle();
  expect(await ada.collection("orders").get(id)).toMatchObject({ total: 2000, confirmed: true });
  expect(await bob.collection("lines").list()).toEqual([]);
  expect((await ada.collection("products").get(chair)).stock).toBe(1);
});

test("10 chairs and 50 buyers at once: exactly 10 are sold", async () => {
  const ada = await service.client("ada@example.com");
  const chair = await product(10);
  const orders = Array.from({ length: 50 }, () => order(ada, { items: [{ product: chair, quantity: 1 }] }));
  const statuses = (await Promise.all(orders)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 201)).toHaveLength(10);
  expect(statuses.filter((status) => status === 400)).toHaveLength(40);
  expect((await ada.collection("products").get(chair)).stock).toBe(0);
});

test("a coupon for 3 and 20 buyers at once: exactly 3 get the coupon, and nothing is taken from the others", async () => {
  const ada = await service.client("ada@example.com");
  const admin = await service.client("admin");
  await admin.collection("coupons").create({ code: "SPRING", percent: 10, uses: 3 });
  const chair = await product(100);
  const body = { items: [{ product: chair, quantity: 1 }], coupon: "SPRING" };
  const answers = await Promise.all(Array.from({ length: 20 }, () => order(ada, body)));
  expect(answers.map(({ status }) => status).filter((status) => status === 201)).toHaveLength(3);
  expect((await ada.collection("products").get(chair)).stock).toBe(97);
});

test.each([
  [{}, "An order needs 1 to 50 items."],
  [{ items: [{ product: "x", quantity: 0 }] }, "An item needs a product, and a quantity from 1."],
  [{ items: [{ product: "x", quantity: 1 }] }, "There is no such product."],
])("the order %j is refused: %s", async (body, message) => {
  const answer = await order(await service.client("ada@example.com"), body);
  expect(answer.status).toBe(400);
  expect(((await answer.json()) as { error: { message: string } }).error.message).toContain(message);
});
