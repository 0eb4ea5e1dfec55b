// Headless Chromium for the scripts that use the live page.
'use strict';

const { chromium } = require('playwright-core');

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const SIZES = { narrow: [400, 800], usual: [1280, 900], large: [3840, 2160] };

/** What the rows in sight of a table say, cell by cell. */
const rows = (page, table) =>
  page.$$eval(`#${table} .body [role=row]`, (all) =>
    all.filter((row) => !row.hidden).map((row) => [...row.children].map((cell) => cell.textContent)),
  );

const text = (page, id) => page.locator(`#${id}`).innerText();

/** Confirms what a button asks; returns the question and what became of it. */
async function confirm(page, button, done) {
  await page.getByRole('button', { name: button, exact: true }).click();
  const question = await text(page, 'question');
  await page.getByRole('button', { name: 'Do it' }).click();
  await page.locator(`#${done}`, { hasText: /done|begun|refused|read-only/ }).waitFor();
  return { question, done: await text(page, done) };
}

/** Notes how many requests the page has made of anybody else than `host`, and what it complained of. */
function watched(page, host, seen) {
  page.on('request', (request) => {
    if (new URL(request.url()).host !== host && !request.url().startsWith('blob:')) seen.elsewhere.push(request.url());
  });
  page.on('console', (message) => {
    if (message.type() === 'error') seen.errors.push(message.text());
  });
  page.on('pageerror', (error) => seen.errors.push(String(error)));
}

/** Runs `use` with a browser and what is seen, and prints the latter as JSON. */
function run(program, use) {
  const seen = { elsewhere: [], errors: [], overflow: {}, ground: {} };
  const all = async () => {
    const browser = await chromium.launch({ executablePath: program, args: FLAGS });
    try {
      await use(browser, seen);
    } finally {
      await browser.close();
    }
    process.stdout.write(JSON.stringify(seen));
  };
  all().catch((error) => {
    console.error(error);
    process.exitCode = 1;
  });
}

module.exports = { SIZES, confirm, rows, run, text, watched };
