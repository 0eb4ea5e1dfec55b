// Opens the live page in headless Chromium, uses it, and prints what it saw as JSON, for test_page.py:
// node page.js CHROMIUM ADDRESS FOLDER_FOR_PICTURES [SIZE_ONLY]
'use strict';

const path = require('node:path');
const { SIZES, rows, run, text, watched } = require('./browser.js');

const [program, address, folder, only] = process.argv.slice(2);

/** First one that is not known, then one that is: the browser notes each refusal as an error, which it is not. */
async function showTokens(page, seen) {
  const show = async (token) => {
    await page.getByRole('textbox', { name: 'Token' }).fill(token);
    await page.getByRole('button', { name: 'Use it until the page is closed' }).click();
  };
  seen.wanted = [await text(page, 'wanted')];
  await show('of-nobody');
  await page.locator('#wanted', { hasText: 'not known' }).waitFor();
  seen.wanted.push(await text(page, 'wanted'));
  await show('of-an-operator');
  await page.locator('#done', { hasText: 'done' }).waitFor();
  seen.kept = await page.evaluate(() => [localStorage.length, sessionStorage.length, document.cookie.length, document.getElementById('token').value.length]);
  seen.errors = seen.errors.filter((error) => !error.includes('401 (Unauthorized)'));
}

async function use(page, seen) {
  seen.rowCount = await page.locator('#models').getAttribute('aria-rowcount');
  seen.rows = await rows(page, 'models');
  seen.elements = await page.locator('#models .body [role=row]').count();
  seen.uses = await text(page, 'uses');
  seen.facts = await text(page, 'facts');
  await page.locator('#models').focus();
  await page.keyboard.press('End');
  await page.locator('#models .body .chosen').waitFor();
  const active = await page.locator('#models').getAttribute('aria-activedescendant');
  seen.last = await page.locator(`#${active}`).getAttribute('aria-rowindex');
  const lastName = await page.locator('#models .body .chosen .name').innerText();
  await page.keyboard.press('Home');
  seen.first = await page.locator('#models .body .chosen .name').innerText();
  seen.details = await text(page, 'details');
  await page.locator('#programs td').first().waitFor();
  seen.programs = await text(page, 'programs');
  const change = page.getByRole('button', { name: 'Change weight' });
  if (await change.count()) {
    await change.click();
    await page.getByLabel('New weight').fill('2.5');
    await page.getByRole('button', { name: 'Do it' }).click();
    await page.locator('#done:has-text("done"), #credentials[open]').first().waitFor();
    if (await page.locator('#credentials').isVisible()) await showTokens(page, seen);
    await page.locator('#done', { hasText: 'done' }).waitFor();
    seen.changed = await text(page, 'done');
  }
  await page.getByRole('columnheader', { name: 'Model' }).getByRole('button').click();
  seen.sorted = (await rows(page, 'models')).slice(0, 3).map((row) => row[0]);
  seen.sort = await page.getByRole('columnheader', { name: 'Model' }).getAttribute('aria-sort');
  await page.keyboard.press('/');
  await page.keyboard.type(lastName);
  seen.filtered = (await rows(page, 'models')).map((row) => row[0]);
  await page.locator('#models-filter').fill('');
  await page.keyboard.press('Escape');
  await page.keyboard.press('p');
  seen.paused = await page.getByRole('button', { name: 'Go on' }).getAttribute('aria-pressed');
  await page.keyboard.press('p');
  seen.named = await page.getByRole('grid', { name: 'Models' }).count();
  seen.timeline = await page.getByRole('img', { name: /of the device: .* runs/ }).count();
  const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save for Perfetto' }).click()]);
  await saved.saveAs(path.join(folder, 'trace.json'));
  const record = page.getByRole('button', { name: 'Download as JFR' });
  seen.recordable = await record.isVisible();
  if (seen.recordable) {
    const [recorded] = await Promise.all([page.waitForEvent('download'), record.click()]);
    await recorded.saveAs(path.join(folder, recorded.suggestedFilename().replace(/.*\./, 'recording.')));
  }
}

run(program, async (browser, seen) => {
  for (const scheme of ['light', 'dark']) {
    for (const [size, [width, height]] of Object.entries(SIZES)) {
      if (only && size !== only) continue;
      const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, acceptDownloads: true });
      const page = await context.newPage();
      watched(page, address, seen);
      await page.goto(`http://${address}/ui`);
      await page.locator('#models .name').nth(1).waitFor();
      await page.locator('#uses li').first().waitFor(); // what the device did is known from the second event on
      if (size === 'usual') await page.waitForTimeout(2500); // for shares of more than one second
      await page.screenshot({ path: path.join(folder, `page-${size}-${scheme}.png`) });
      seen.overflow[size] = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      seen.ground[scheme] = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      if (size === 'usual' && scheme === 'light') await use(page, seen);
      await context.close();
    }
  }
});
