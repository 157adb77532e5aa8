/** The cart of a request. */
export interface Cart {
  items: { product: string; quantity: number }[];
  coupon: string | null;
}

const maxItems = 50;

/** Reads a body `{ items: [{ product, quantity }], coupon? }`. Throws a Refusal, which the client gets as 400. */
export async function cartOf(request: Request): Promise<Cart> {
  const body: unknown = await request.json().catch(() => null);
  const { items, coupon = null } = (body ?? {}) as { items?: unknown; coupon?: unknown };
  if (!Array.isArray(items) || items.length === 0 || items.length > maxItems)
    throw new Refusal(`An order needs 1 to ${maxItems} items.`, { field: "items" });
  if (coupon !== null && typeof coupon !== "string") throw new Refusal("A coupon is a text.", { field: "coupon" });
  const quantities = new Map<string, number>();
  for (const item of items) {
    const { product, quantity } = (item ?? {}) as { product?: unknown; quantity?: unknown };
    if (typeof product !== "string" || !Number.isInteger(quantity) || Number(quantity) < 1)
      throw new Refusal("An item needs a product, and a quantity from 1.", { field: "items" });
    quantities.set(product, (quantities.get(product) ?? 0) + Number(quantity));
  }
  return { items: [...quantities].map(([product, quantity]) => ({ product, quantity })), coupon };
}
