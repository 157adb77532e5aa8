/** GET /api/function/summary: how many notes there are. Nobody has to sign in. */
export const access: EndpointAccess = "public";

export const GET: Endpoint = async (_request, { db }) => {
  return Response.json({ notes: await db.notes.count(), done: await db.notes.where({ done: true }).count() });
};
