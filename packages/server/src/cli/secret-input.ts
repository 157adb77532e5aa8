/** Secret input: a line that is typed on a terminal in raw mode and not shown. */
export class SecretInput {
  #characters: string[] = [];
  /** The characters so far of a key that sends several characters. */
  #escape = "";

  get text(): string {
    return this.#characters.join("");
  }

  /** Takes a character. Answers the effect, unless the character is a part of the line. */
  type(char: string): "end" | "interrupt" | null {
    if (this.#escape !== "") {
      // `ESC [`, numbers, and a letter or ~ at last; or `ESC O` and a letter (ECMA-48, 5.4).
      const goesOn = this.#escape.length === 1 ? char === "[" || char === "O" : !/[A-Za-z~]/.test(char);
      this.#escape = goesOn ? this.#escape + char : "";
    } else if (char === "\r" || char === "\n" || char === "\u0004") {
      return "end";
    } else if (char === "\u0003") {
      return "interrupt";
    } else if (char === "\u007f" || char === "\b") {
      this.#characters.pop();
    } else if (char === "\u0015") {
      this.#characters = [];
    } else if (char === "\u001b") {
      this.#escape = char;
    } else if (char >= " ") {
      this.#characters.push(char);
    }
    return null;
  }
}
