/* Stands in for libdcgm.so.3 where there is no GPU to watch. The core calls it for GPU metrics only, which are off. */
enum { GENERIC_ERROR = -3 };

#define REFUSE(name) \
  int name(void) { return GENERIC_ERROR; }

REFUSE(dcgmConnect)
REFUSE(dcgmDisconnect)
REFUSE(dcgmFieldGroupCreate)
REFUSE(dcgmGetAllDevices)
REFUSE(dcgmGetDeviceAttributes)
REFUSE(dcgmGetLatestValuesForFields)
REFUSE(dcgmGroupCreate)
REFUSE(dcgmGroupDestroy)
REFUSE(dcgmInit)
REFUSE(dcgmShutdown)
REFUSE(dcgmStartEmbedded)
REFUSE(dcgmStopEmbedded)
REFUSE(dcgmUpdateAllFields)
REFUSE(dcgmWatchFields)

const char* errorString(int error) {
  (void)error;
  return "no DCGM";
}
