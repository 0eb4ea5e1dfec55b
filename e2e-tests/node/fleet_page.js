// Opens the page of a gateway or a node in headless Chromium, goes to a worker's page and back, and prints what it saw
// as JSON: node fleet_page.js CHROMIUM ADDRESS_AND_PREFIX FOLDER_FOR_PICTURES TABLE [ONLY_LOOK]
'use strict';

const path = require('node:path');
const { SIZES, confirm, rows, run, text, watched } = require('./browser.js');

const [program, address, folder, table, only] = process.argv.slice(2);
const HOST = address.split('/')[0];

const first = (page, of) => page.locator(`#${of} .body .name`).first();
const settled = async (page, of) => {
  await first(page, of).waitFor();
  if (of === 'workers') await first(page, 'placed').waitFor();
  await page.locator('#state', { hasText: 'live' }).waitFor();
};

/** By a click on a worker, the keys, and a click on a model; and what may be changed there. */
async function use(page, seen) {
  seen.rows = await rows(page, table);
  seen.rowCount = await page.locator(`#${table}`).getAttribute('aria-rowcount');
  seen.elements = await page.locator(`#${table} .body [role=row]`).count();
  seen.named = await page.getByRole('grid', { name: table === 'workers' ? 'Workers, as this gateway sees them' : 'Processes of this node' }).count();
  seen.choices = await page.locator('#worker option').allInnerTexts();
  seen.hidden = await page.locator('#timeline').isHidden();
  if (table === 'workers') {
    seen.facts = await text(page, 'gateway-facts');
    seen.placed = await rows(page, 'placed');
    seen.placedCount = await page.locator('#placed').getAttribute('aria-rowcount');
    seen.placedElements = await page.locator('#placed .body [role=row]').count();
  }
  await page.keyboard.press('/');
  await page.keyboard.type(seen.rows[1][0]);
  seen.filtered = (await rows(page, table)).map((row) => row[0]);
  await page.keyboard.press('Escape');
  await page.keyboard.press('Home');
  seen.details = await text(page, table === 'workers' ? 'worker-details' : 'process-details');
  await page.keyboard.press('Enter');
  await first(page, 'models').waitFor();
  seen.byKeys = await page.getByLabel('Worker', { exact: true }).inputValue();
  seen.models = (await rows(page, 'models')).map((row) => row[0]);
  await page.goBack();
  await settled(page, table);
  seen.back = await page.getByLabel('Worker', { exact: true }).inputValue();
  await page.locator(`#${table}-filter`).fill('');
  await page.locator(`#${table} .body .name`, { hasText: (seen.rows[2] ?? seen.rows[1])[0] }).first().click(); // in sight
  await first(page, 'models').waitFor();
  seen.byClick = await page.getByLabel('Worker', { exact: true }).inputValue();
}

async function useModels(page, seen) {
  await page.goto(`http://${address}/ui/#`);
  await settled(page, 'workers');
  await first(page, 'placed').click();
  await page.locator('#details', { hasText: 'Model' }).waitFor();
  seen.model = await text(page, 'details');
  seen.hash = new URL(page.url()).hash;
  if (!only) {
    seen.unload = await confirm(page, 'Unload', 'done');
    await page.keyboard.press('/');
    await page.keyboard.type('never');
    await page.locator('#models .body [role=row]', { hasText: 'never-loaded' }).first().click();
    seen.load = await confirm(page, 'Load', 'done');
  }
  seen.drain = await confirm(page, 'Drain', 'worker-done');
  await page.locator('#state', { hasText: 'drained' }).waitFor();
  await page.goto(`http://${address}/ui/#`);
  if (only) {
    await page.locator('#workers .failed', { hasText: 'not ready' }).waitFor();
    seen.drained = await rows(page, 'workers');
  }
  await page.goBack();
  seen.serving = await confirm(page, 'Serve again', 'worker-done');
  await page.locator('#state', { hasText: 'live' }).waitFor();
}

run(program, async (browser, seen) => {
  for (const scheme of ['light', 'dark']) {
    for (const [size, [width, height]] of Object.entries(SIZES)) {
      if (only && (size !== 'usual' || scheme !== 'light')) continue;
      const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme });
      const page = await context.newPage();
      watched(page, HOST, seen);
      await page.goto(`http://${address}/ui/`);
      await settled(page, table);
      await page.screenshot({ path: path.join(folder, `${table}-${size}-${scheme}.png`) });
      seen.overflow[`${size} ${scheme}`] = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      seen.ground[scheme] = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      if (size === 'usual' && scheme === 'light') {
        await use(page, seen);
        if (table === 'workers') await useModels(page, seen);
      }
      await context.close();
    }
  }
});
