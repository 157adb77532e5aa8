/**
 * Passkey script: the JavaScript of the pages on which a person signs in with a passkey. The script shows the form `#passkey` in
 * browsers that can read the options of the service, and sends the form with the answer of the authenticator.
 */
export const passkeyScript = `
const form = document.getElementById("passkey");
const { passkey, attempt } = form.elements;
form.hidden = globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON === undefined;
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const answer = await fetch(form.dataset.options, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ attempt: attempt?.value }),
    });
    if (!answer.ok) throw new Error(answer.statusText);
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(await answer.json());
    passkey.value = JSON.stringify(await navigator.credentials.get({ publicKey }));
    form.submit();
  } catch {
    document.querySelector("[role=alert]")?.remove();
    const problem = document.createElement("p");
    problem.role = "alert";
    problem.textContent = form.dataset.problem;
    document.querySelector("h1").after(problem);
  }
});
`;
