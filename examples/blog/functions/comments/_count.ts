/**
 * Writes down the number of a post's comments. Comments come at the same time, so the function counts again after the
 * write: the last write is then true.
 */
export async function countComments(db: SocleDatabase, post: string): Promise<void> {
  const count = (): Promise<number> => db.comments.where({ post }).count();
  for (let written = -1, n = await count(); n !== written; n = await count()) {
    if ((await db.posts.get(post)) === null) return;
    await db.posts.update(post, { commentCount: n });
    written = n;
  }
}
