'use strict';

/** Whether no version from 8 on satisfies a range of `ws`. @param {string} range */
function isBelow8(range) {
  const majors = [...range.replaceAll(/<\s*8(\.0)*(?![\d.])/g, '').matchAll(/(?<![\d.\w])(\d+)/g)].map(([, major]) => Number(major));
  const hasEnd = !range.includes('>') || range.includes('<');
  return majors.length !== 0 && hasEnd && majors.every((major) => major < 8);
}

module.exports = { isBelow8 };
