/** The option `--identity` of the commands that read an encrypted backup. */
export const identityOption = {
  identity: {
    value: "FILE",
    summary: "the age identity of an encrypted backup; without an identity, the command asks for the passphrase",
  },
};
