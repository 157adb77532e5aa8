/** Confirms an order. A real shop sends a mail here: the run is added in the commit of the order, and is made at least once. */
export const queue: QueueOptions = { concurrency: 4, retries: 5 };

const job: QueueJob<{ order: string }> = async ({ payload, db, logger }) => {
  const order = await db.orders.get(payload.order);
  if (order === null || order.confirmed === true) return;
  await db.orders.update(order.id, { confirmed: true });
  logger.info("Confirmed", { order: order.id });
};

export default job;
