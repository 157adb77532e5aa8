// @ts-check
/** The page: the products with the stock, live, a button that buys, and the orders of the signed-in user. A sign-in stays. */
import { createClient, live, SocleError } from "/_/client.js";

/** @typedef {{ collections: Collections; endpoints: {}; queries: Queries }} Project */
const socle = /** @type {import("/_/client.js").Socle<Project>} */ (createClient({ live }));

const place = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const signIn = /** @type {HTMLFormElement} */ (place("sign-in"));
const coupon = /** @type {HTMLInputElement} */ (place("coupon"));
const money = (/** @type {number} */ cents) => (cents / 100).toFixed(2);

/** Does the work of a button, and shows the messages of the service if the service refuses. */
async function attempt(/** @type {() => Promise<unknown>} */ work) {
  place("problem").textContent = "";
  try {
    await work();
  } catch (error) {
    if (!(error instanceof SocleError)) throw error;
    // The messages by field; other refusals have one message.
    place("problem").textContent = Object.values(error.fields).join("; ") || error.message;
  }
}

/** Shows texts as items; text goes in as text, and is never markup. */
function list(/** @type {string} */ id, /** @type {(string | Node)[][]} */ rows) {
  const items = rows.map((row) => {
    const item = document.createElement("li");
    item.append(...row);
    return item;
  });
  place(id).replaceChildren(...items);
}

/** Buys a product: the endpoint takes stock, order and coupon in one transaction. */
async function buy(/** @type {string} */ product) {
  const body = { items: [{ product, quantity: 1 }], coupon: coupon.value.trim() || null };
  await socle.function("orders", { body });
  coupon.value = "";
}

/** @type {(() => void) | undefined} */
let stop;

/** Shows what the present session may do. Called after sign-ins and sign-outs of all tabs. */
function showSession() {
  const isSignedIn = Boolean(socle.session.get());
  signIn.hidden = isSignedIn;
  place("account").hidden = !isSignedIn;
  place("own").hidden = !isSignedIn;
  stop?.();
  stop = undefined;
  if (!isSignedIn) return list("orders", []);
  stop = socle.orders
    .orderBy("-createdAt")
    .limit(20)
    .live(({ items }) => {
      list(
        "orders",
        items.map(({ total, confirmed }) => [`${money(total)} ${confirmed ? "confirmed" : "in work"}`]),
      );
    });
}
socle.session.subscribe(showSession);
showSession();

signIn.onsubmit = (event) => {
  event.preventDefault();
  const isNew = event.submitter?.getAttribute("value") === "register";
  const { email, password } = Object.fromEntries(new FormData(signIn));
  const credentials = { email: String(email), password: String(password) };
  attempt(() => (isNew ? socle.register(credentials) : socle.login(credentials)));
};
place("sign-out").onclick = () => attempt(() => socle.logout());

socle.products.orderBy("name").live(({ items, status }) => {
  place("status").textContent = status;
  list(
    "products",
    items.map(({ id, name, price, stock }) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = `Buy ${name}`;
      button.disabled = stock === 0;
      button.onclick = () => attempt(() => buy(id));
      return [`${name}, ${money(price)}, ${stock} left `, button];
    }),
  );
});
