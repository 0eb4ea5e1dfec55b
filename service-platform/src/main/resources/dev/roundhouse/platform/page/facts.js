// @ts-check
/** What is known of the chosen row, which narrow screens have no columns for. */

/** @typedef {[title: string, text: string, wide: boolean]} Fact */

/** Shows those that have a text. @param {HTMLElement} list @param {Fact[]} facts */
export function showFacts(list, facts) {
  list.replaceChildren(
    ...facts
      .filter(([, text]) => text !== "")
      .map(([title, text, wide]) => {
        const fact = document.createElement("div");
        fact.className = wide ? "wide" : "";
        const term = document.createElement("dt");
        term.textContent = title;
        const said = document.createElement("dd");
        said.textContent = text;
        fact.append(term, said);
        return fact;
      }),
  );
}
