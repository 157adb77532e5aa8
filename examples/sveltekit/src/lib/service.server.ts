/** Addresses of the service: for this server, and for the pages. */
export const serviceUrl = process.env["SOCLE_URL"] ?? "http://localhost:8080";
export const publicUrl = process.env["SOCLE_PUBLIC_URL"] ?? serviceUrl;
