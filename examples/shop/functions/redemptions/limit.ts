/**
 * A coupon is used as often as it allows. The service looks at the count again when the record is written, so the limit also
 * holds for customers who order at the same moment.
 */
export const beforeCreate: BeforeCreate<"redemptions"> = async ({ record, db }) => {
  const coupon = await db.coupons.get(record.coupon);
  const used = await db.redemptions.where({ coupon: record.coupon }).count();
  if (coupon === null || used >= coupon.uses) throw new Refusal("This coupon is used up.", { field: "coupon" });
};
