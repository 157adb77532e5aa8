/** POST /api/function/orders: an order with its lines, stock and coupon, all or nothing. */
import { cartOf } from "./_cart.ts";

export const POST: Endpoint = async (request, { user, db }) => {
  const cart = await cartOf(request);
  const order = await db.transaction(async (tx) => {
    const lines: { product: string; quantity: number; price: number }[] = [];
    for (const { product, quantity } of cart.items) {
      const found = await tx.products.get(product);
      if (found === null) throw new Refusal("There is no such product.", { field: "items" });
      if (found.stock < quantity) throw new Refusal(`${found.name} is sold out.`, { field: "items" });
      lines.push({ product, quantity, price: found.price });
    }
    const full = lines.reduce((sum, { price, quantity }) => sum + price * quantity, 0);
    const coupon = cart.coupon === null ? null : await tx.coupons.where({ code: cart.coupon }).first();
    if (cart.coupon !== null && coupon === null) throw new Refusal("There is no such coupon.", { field: "coupon" });
    const total = full - Math.floor((full * (coupon?.percent ?? 0)) / 100);

    const { id } = await tx.orders.create({ buyer: user?.id ?? null, total });
    for (const line of lines) {
      await tx.lines.create({ order: id, ...line });
      await tx.products.update(line.product, { stock: { $increment: -line.quantity } });
    }
    if (coupon !== null) await tx.redemptions.create({ coupon: coupon.id, order: id });
    await tx.jobs.enqueue("confirm", { order: id });
    return { id, total };
  });
  return Response.json(order, { status: 201 });
};
