// Questions to the program that opened this page. Of each kind one is under way; the newest waits, older ones
// are dropped: whoever moves a slider wants to see where it is, not where it was.

export async function ask(question, body = {}) {
  let reply;
  try {
    reply = await fetch(question, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  } catch {
    throw new Error("The program behind this page has ended. Start “maxmargin play” again; Save still works.");
  }
  const answer = await reply.json();
  if (!reply.ok) throw new Error(answer.error);
  return answer;
}

export class Newest {
  #question;
  #receive;
  #fail;
  #waiting = null;
  #busy = false;

  constructor(question, receive, fail) {
    this.#question = question;
    this.#receive = receive;
    this.#fail = fail;
  }

  // `tag` comes back with the answer, to tell which state it is about.
  ask(body, tag) {
    this.#waiting = { body, tag };
    if (!this.#busy) this.#next();
  }

  get isWaiting() {
    return this.#waiting !== null;
  }

  async #next() {
    this.#busy = true;
    try {
      while (this.#waiting) {
        const { body, tag } = this.#waiting;
        this.#waiting = null;
        const { answer, error } = await ask(this.#question, body).then(
          (answer) => ({ answer }),
          (error) => ({ error }),
        );
        if (error) this.#fail(error, tag);
        else this.#receive(answer, tag);
      }
    } finally {
      this.#busy = false;
    }
  }
}
