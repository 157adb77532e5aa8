/** Uploads that fail during the write of the file, and the turns and places that these uploads give back. */
import { expect, test } from "bun:test";
import { openFiles } from "../../../test/files.ts";
import { fileForm, formType } from "../../../test/forms.ts";

const { onDisk, other, request, token } = await openFiles({ SERVICE_LIMITS_STORAGE_PER_USER: "20971520" });

const pieceSize = 64 * 1024;

/** A form that comes in pieces, as from a socket, on a connection that stays open after the last piece. */
function pieces(form: Uint8Array, { staysOpen }: { staysOpen: boolean }): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at < form.byteLength) controller.enqueue(form.subarray(at, at + pieceSize));
      else if (!staysOpen) controller.close();
      else return new Promise<void>(() => undefined);
      at += pieceSize;
      return undefined;
    },
  });
}

function upload(form: Uint8Array, options: { by: string; staysOpen: boolean }) {
  const headers = { "Content-Type": formType };
  return request("POST", "/api/storage/upload", { body: pieces(form, options), token: options.by, headers });
}

test("uploads that fail while their file is written keep no turn", async () => {
  const before = onDisk();
  // Within the bound of a form, and beyond the bound of a file.
  const form = fileForm(Buffer.alloc(10 * 1024 * 1024 + 200_000, 7));
  for (let n = 0; n < 5; n++) {
    const { status, body } = await upload(form, { by: token, staysOpen: n % 2 === 0 });
    expect(status).toBe(413);
    expect<unknown>(body["error"]?.["code"]).toBe("payload_too_large");
  }
  expect(onDisk()).toEqual(before);
  const good = await upload(fileForm("fine"), { by: other.accessToken, staysOpen: false });
  expect(good.status).toBe(201);
  const own = await upload(fileForm("fine, too"), { by: token, staysOpen: false });
  expect(own.status).toBe(201);
});

test("a form that is no form ends its turn at once", async () => {
  for (let n = 0; n < 5; n++) {
    const bad = await upload(Buffer.alloc(200_000, "no boundary "), { by: token, staysOpen: false });
    expect(bad.status).toBe(400);
  }
  expect((await upload(fileForm("fine"), { by: token, staysOpen: false })).status).toBe(201);
});
