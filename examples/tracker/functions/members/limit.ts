/**
 * A workspace has at most 25 members. The service looks at the count again when the membership is written, so the limit also
 * holds for users who join at the same moment.
 */
const most = 25;

export const beforeCreate: BeforeCreate<"members"> = async ({ record, db }) => {
  const members = await db.members.where({ workspace: record.workspace }).count();
  if (members >= most) throw new Refusal(`A workspace has at most ${most} members.`, { field: "workspace" });
};
