package dev.roundhouse.bundle.weights;

import dev.roundhouse.bundle.error.BundleException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** The rule that tensors fill the data block: no overlap, no hole, nothing after the last. */
final class DataBlock {
  private DataBlock() {}

  static void check(List<FileTensor> tensors, long dataBytes, String file) {
    List<FileTensor> sorted = new ArrayList<>(tensors);
    sorted.sort(Comparator.comparingLong(FileTensor::begin).thenComparingLong(FileTensor::end));
    long filled = 0;
    String previous = "the header";
    for (FileTensor tensor : sorted) {
      String range = "tensor '" + tensor.name() + "' [" + tensor.begin() + "," + tensor.end() + ")";
      if (tensor.end() > dataBytes) {
        throw new BundleException(
            file,
            range + " ends beyond the data block of " + dataBytes + " bytes; is the file cut off?");
      }
      if (tensor.begin() < filled) {
        throw new BundleException(
            file, range + " overlaps " + previous + ", which ends at " + filled);
      }
      if (tensor.begin() > filled) {
        throw new BundleException(
            file,
            range + " leaves a hole of " + (tensor.begin() - filled) + " bytes after " + previous);
      }
      filled = tensor.end();
      previous = "tensor '" + tensor.name() + "'";
    }
    if (filled != dataBytes) {
      throw new BundleException(
          file, (dataBytes - filled) + " bytes follow " + previous + " and belong to no tensor");
    }
  }
}
