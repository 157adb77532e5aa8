/** Passkeys of requests: the answers of `navigator.credentials` as JSON (WebAuthn, 5.1), and the names of passkeys. */
import type { PasskeyAssertion, PasskeyRegistration } from "@socle/protocol";
import { isObject } from "../../../base/kernel/index.ts";
import { invalid } from "../read-body.ts";

/** WebAuthn, "Credential ID": 1,023 bytes at most. */
const maxCredentialId = 1_364;
/** Characters of the other parts. An attestation with a chain of certificates has a few thousand. */
const maxPart = 16_384;
const maxName = 100;
const maxTransports = 16;

function readBase64(value: unknown, field: string): string {
  if (value === undefined || value === null) throw invalid(field, `${field} is required`, "required");
  if (typeof value !== "string" || !/^[\w-]+$/.test(value)) throw invalid(field, `${field} must be base64url`, "type");
  if (value.length > maxPart) throw invalid(field, `${field} must have at most ${maxPart} characters`, "max");
  return value;
}

/** The object that both answers share. */
function readCredential(body: Record<string, unknown>): { id: string; response: Record<string, unknown> } {
  const passkey = body["passkey"];
  if (passkey === undefined) throw invalid("passkey", "passkey is required", "required");
  if (!isObject(passkey) || !isObject(passkey["response"]) || passkey["type"] !== "public-key")
    throw invalid("passkey", "passkey must be the answer of navigator.credentials, as JSON", "type");
  const id = readBase64(passkey["id"], "passkey.id");
  if (id.length > maxCredentialId) throw invalid("passkey.id", "passkey.id must have at most 1,023 bytes", "max");
  return { id, response: passkey["response"] };
}

/** The answer of `navigator.credentials.get`. @throws AppError `validation_error`. */
export function readAssertion(body: Record<string, unknown>): PasskeyAssertion {
  const { id, response } = readCredential(body);
  const field = (name: string): string => readBase64(response[name], `passkey.response.${name}`);
  const handle = response["userHandle"];
  return {
    id,
    rawId: id,
    type: "public-key",
    clientExtensionResults: {},
    response: {
      clientDataJSON: field("clientDataJSON"),
      authenticatorData: field("authenticatorData"),
      signature: field("signature"),
      ...(handle !== undefined && handle !== null && { userHandle: field("userHandle") }),
    },
  };
}

/** The answer of `navigator.credentials.create`. @throws AppError `validation_error`. */
export function readRegistration(body: Record<string, unknown>): PasskeyRegistration {
  const { id, response } = readCredential(body);
  const field = (name: string): string => readBase64(response[name], `passkey.response.${name}`);
  const given = response["transports"];
  const transports = Array.isArray(given)
    ? given.filter((each) => typeof each === "string" && /^[a-z-]{1,32}$/.test(each))
    : [];
  return {
    id,
    rawId: id,
    type: "public-key",
    clientExtensionResults: {},
    response: {
      clientDataJSON: field("clientDataJSON"),
      attestationObject: field("attestationObject"),
      transports: transports.slice(0, maxTransports),
    },
  };
}

/** The name by which the user tells passkeys apart. @throws AppError `validation_error`. */
export function readName(body: Record<string, unknown>): string {
  const name = body["name"];
  if (name === undefined || name === null) return "Passkey";
  if (typeof name !== "string" || !name.isWellFormed()) throw invalid("name", "name must be a string", "type");
  const trimmed = name.trim();
  const length = [...trimmed].length;
  if (length < 1 || length > maxName || /\p{C}/u.test(trimmed))
    throw invalid("name", `name must have 1 to ${maxName} characters, without control characters`);
  return trimmed;
}
